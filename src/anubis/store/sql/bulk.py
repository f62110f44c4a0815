"""Statements that read many rows, for gates and audit trails. ``compile`` converts them to SQL."""

from typing import Any

from sqlalchemy import Executable, Select, Subquery, func, literal_column, select

from anubis.store.sql.queries import among, event_kind, event_rows, given
from anubis.store.sql.schema import descriptors, events, metrics, points, runs, series, sessions, words

_series_key = words.alias("series_key")
_pairs = select(points.c.metric, points.c.series).distinct().subquery("pairs")


def statements() -> dict[str, Executable]:
    """The statements by name."""
    # All points of a run are from one machine, so any of them determines the series.
    of_series = (
        select(points.c.series).where(points.c.run == runs.c.no).limit(literal_column("1")).scalar_subquery()
    )
    order_s = func.coalesce(runs.c.order_s, runs.c.created_s)
    candidates = (
        select(
            runs.c.no,
            runs.c.id,
            order_s.label("order_s"),
            descriptors.c.subject,
            of_series.label("series"),
            runs.c.session,
        )
        .join_from(runs, descriptors, descriptors.c.id == runs.c.descriptor)
        .where(
            descriptors.c.series_key.in_(select(words.c.id).where(among(words.c.word, "series_keys"))),
            order_s < given("before_s"),
        )
        .subquery("candidates")
    )
    newness = func.row_number().over(
        partition_by=candidates.c.series, order_by=(candidates.c.order_s.desc(), candidates.c.no.desc())
    )
    ranked = select(candidates, newness.label("newness")).subquery("ranked")
    of_runs = select(
        points.c.run,
        points.c.metric,
        points.c.value,
        points.c.spread,
        points.c.count,
        points.c.better,
        points.c.contaminated,
    ).where(among(points.c.run, "numbers"))
    in_order = (points.c.run, points.c.metric)
    return {
        "measured_runs": _with_sessions(ranked).where(
            ranked.c.newness <= given("most"), ranked.c.series.is_not(None)
        ),
        "points_of_runs": of_runs.order_by(*in_order),
        "metrics_of_runs": of_runs.where(among(points.c.metric, "metrics")).order_by(*in_order),
        "named_series": select(
            _series_key.c.word.label("series_key"), descriptors.c.name, descriptors.c.labels
        )
        .join_from(descriptors, _series_key, _series_key.c.id == descriptors.c.series_key)
        .distinct(),
        # The pairs come from the index alone; the names are joined afterwards.
        "measured_series": select(series.c.series_key, metrics.c.name.label("metric"))
        .join_from(_pairs, series, series.c.id == _pairs.c.series)
        .join(metrics, metrics.c.id == _pairs.c.metric)
        .distinct(),
        "trail": event_rows().where(
            among(event_kind.c.word, "kinds"), events.c.data.contains(given("part"), autoescape=False)
        ),
    }


def _with_sessions(ranked: Subquery) -> Select[Any]:
    """The runs, oldest first, with their sessions."""
    columns = (ranked.c.no, ranked.c.id, ranked.c.order_s, ranked.c.subject, ranked.c.series)
    return (
        select(*columns, sessions.c.machine, sessions.c.start_s)
        .outerjoin_from(ranked, sessions, sessions.c.no == ranked.c.session)
        .order_by(ranked.c.order_s, ranked.c.no)
    )
