"""Statements that read many rows, for gates and audit trails. ``compile`` converts them to SQL."""

from typing import Any

from sqlalchemy import Executable, Select, func, literal_column, select

from anubis.store.sql.queries import among, event_kind, event_rows, given
from anubis.store.sql.schema import descriptors, events, metrics, points, runs, series, sessions, words

_series_key = words.alias("series_key")
_newer = runs.alias("newer")
_pairs = (
    select(points.c.metric, points.c.series, func.count().label("points"))
    .group_by(points.c.metric, points.c.series)
    .subquery("pairs")
)


def statements() -> dict[str, Executable]:
    """The statements by name."""
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
        "measured_runs": _measured_runs(),
        "points_of_runs": of_runs.order_by(*in_order),
        "metrics_of_runs": of_runs.where(among(points.c.metric, "metrics")).order_by(*in_order),
        "named_series": select(
            _series_key.c.word.label("series_key"), descriptors.c.name, descriptors.c.labels
        )
        .join_from(descriptors, _series_key, _series_key.c.id == descriptors.c.series_key)
        .distinct(),
        # The pairs come from the index alone; the names are joined afterwards.
        "measured_series": select(
            series.c.series_key,
            series.c.fingerprint,
            metrics.c.name.label("metric"),
            metrics.c.units,
            _pairs.c.points,
        )
        .join_from(_pairs, series, series.c.id == _pairs.c.series)
        .join(metrics, metrics.c.id == _pairs.c.metric),
        "trail": event_rows().where(
            among(event_kind.c.word, "kinds"), events.c.data.contains(given("part"), autoescape=False)
        ),
    }


def _measured_runs() -> Select[Any]:
    """The newest runs of each series, oldest first, with their sessions.

    Those of the same order as the last of them are included, so there may be more than asked for.
    """
    order_s = func.coalesce(runs.c.order_s, runs.c.created_s)
    newer_order_s = func.coalesce(_newer.c.order_s, _newer.c.created_s)
    oldest = (
        select(newer_order_s)
        .where(_newer.c.series == series.c.id, newer_order_s < given("before_s"))
        .order_by(newer_order_s.desc())
        .limit(literal_column("1"))
        .offset(given("skipped"))
        .correlate(series)
        .scalar_subquery()
    )
    # One search of an index for each series, instead of a look at all its runs.
    starts = (
        select(series.c.id, func.coalesce(oldest, literal_column("-1e308")).label("order_s"))
        .where(among(series.c.series_key, "series_keys"))
        .cte("starts")
        .prefix_with("MATERIALIZED", dialect="postgresql")  # else it is searched again for each run
    )
    return (
        select(
            runs.c.no,
            runs.c.id,
            order_s.label("order_s"),
            descriptors.c.subject,
            runs.c.series,
            sessions.c.machine,
            sessions.c.start_s,
        )
        .join_from(starts, runs, runs.c.series == starts.c.id)
        .join(descriptors, descriptors.c.id == runs.c.descriptor)
        .outerjoin(sessions, sessions.c.no == runs.c.session)
        .where(order_s >= starts.c.order_s, order_s < given("before_s"))
        .order_by(order_s, runs.c.no)
    )
