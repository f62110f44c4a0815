"""Statements that read much at once, for gates and audit trails. ``compile`` turns them into SQL."""

from sqlalchemy import Executable, func, select

from anubis.store.queries import among, given
from anubis.store.schema import descriptors, events, metrics, points, runs, series, words

_subject = words.alias("subject")
_kind = words.alias("kind")
_actor = words.alias("actor")
_series_key = words.alias("series_key")
_pairs = select(points.c.metric, points.c.series).distinct().subquery("pairs")


def statements() -> dict[str, Executable]:
    """By name."""
    newness = func.row_number().over(
        partition_by=(points.c.series, points.c.metric),
        order_by=(points.c.order_s.desc(), points.c.run.desc()),
    )
    chosen = (
        select(points, newness.label("newness"))
        .where(
            among(points.c.metric, "metrics"),
            among(points.c.series, "series"),
            points.c.order_s < given("before_s"),
        )
        .subquery("chosen")
    )
    return {
        "histories": select(
            chosen.c.series,
            chosen.c.metric,
            chosen.c.better,
            runs.c.id,
            chosen.c.value,
            chosen.c.spread,
            chosen.c.count,
            chosen.c.order_s,
            _subject.c.word.label("subject"),
        )
        .join_from(chosen, runs, runs.c.no == chosen.c.run)
        .join(_subject, _subject.c.id == chosen.c.subject)
        .where(chosen.c.newness <= given("most"))
        .order_by(chosen.c.series, chosen.c.metric, chosen.c.newness.desc()),
        "named_series": select(_series_key.c.word, descriptors.c.name, descriptors.c.labels)
        .join_from(descriptors, _series_key, _series_key.c.id == descriptors.c.series_key)
        .distinct(),
        # The pairs first, so that the index alone answers; the names afterwards.
        "measured_series": select(series.c.series_key, metrics.c.name)
        .join_from(_pairs, series, series.c.id == _pairs.c.series)
        .join(metrics, metrics.c.id == _pairs.c.metric)
        .distinct(),
        "trail": select(
            events.c.seq,
            runs.c.id,
            _kind.c.word.label("kind"),
            events.c.time_s,
            events.c.message,
            events.c.data,
            _actor.c.word.label("actor"),
        )
        .join_from(events, runs, runs.c.no == events.c.run)
        .join(_kind, _kind.c.id == events.c.kind)
        .outerjoin(_actor, _actor.c.id == events.c.actor)
        .where(_kind.c.word == given("kind"), events.c.data.contains(given("part"), autoescape=False))
        .order_by(events.c.seq),
    }
