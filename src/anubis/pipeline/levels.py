"""The current levels of many series at once: what a gate compares with, and where it takes their noise from."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt

from anubis.model.alert import Alert
from anubis.model.points import PointBlock
from anubis.model.series import Series

#: Points in which the level is looked for, and those of the level that count: older ones speak of another machine
#: room, toolchain and time.
LOOKED_AT = 40
MOST = 20
#: Series key, fingerprint, metric, unit.
Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Level:
    """The newest points of one level."""

    #: In the metric's unit, oldest first.
    values: tuple[float, ...]
    #: Subject of the newest.
    subject: str


@dataclass(frozen=True, slots=True)
class Newcomer:
    """What the level is wanted for: only what was there before it counts."""

    #: UTC seconds, as in ``Point.order_s``.
    order_s: float
    subjects: frozenset[str]
    run_ids: frozenset[str]


def key_of(block: PointBlock) -> Key:
    """What makes values comparable."""
    return block.series_key, block.fingerprint, block.metric, block.units


def levels(
    blocks: Iterable[PointBlock], newcomers: Mapping[tuple[str, str], Newcomer], accepted: Iterable[Alert]
) -> dict[Key, Level]:
    """The level of each series just before its newcomer, by series key and fingerprint; none where nothing was before.

    It begins at the last change of level, or where people accepted one. Runs of the newcomer's own subject tell
    nothing about what was before, unless its level was accepted: then they are the new baseline.
    """
    from anubis.analysis.changes import find_changes  # noqa: PLC0415  numpy and scipy are needed only here

    starts = {
        (row.series_key, row.fingerprint, row.metric): alert for alert in accepted for row in alert.rows
    }
    chosen: list[tuple[Key, list[int], PointBlock]] = []
    for block in blocks:
        newcomer = newcomers.get((block.series_key, block.fingerprint))
        if newcomer is not None:
            alert = starts.get((block.series_key, block.fingerprint, block.metric))
            if places := _before(block, newcomer, alert):
                chosen.append((key_of(block), places, block))
    changes = find_changes([_series(block, places) for _, places, block in chosen])
    return {
        key: _level(block, places[found[-1] if found else 0 :])
        for (key, places, block), found in zip(chosen, changes, strict=True)
    }


def _before(block: PointBlock, newcomer: Newcomer, accepted: Alert | None) -> list[int]:
    """Places of the points that were there before the newcomer, of the accepted level if there is one."""
    start = _accepted_at(block, accepted) if accepted else None
    end = bisect_left(block.orders_s, newcomer.order_s)
    places = range(start or 0, end)
    if start is not None and block.subjects[start] in newcomer.subjects:
        places = range(start, len(block.values))
        return [
            at for at in places if block.run_ids[at] not in newcomer.run_ids and isfinite(block.values[at])
        ]
    own = newcomer.subjects - {""}
    kept = [at for at in places if block.subjects[at] not in own and isfinite(block.values[at])]
    return kept[-LOOKED_AT:]


def _accepted_at(block: PointBlock, alert: Alert) -> int | None:
    """Where the accepted level begins; None when that is further back than the block."""
    if alert.run_id in block.run_ids:
        return block.run_ids.index(alert.run_id)
    return (
        block.subjects.index(alert.first_new)
        if alert.first_new and alert.first_new in block.subjects
        else None
    )


def _series(block: PointBlock, places: Sequence[int]) -> Series:
    return Series(
        values=tuple(block.values[at] for at in places),
        errors=tuple(
            spread / sqrt(block.counts[at]) if (spread := block.spreads[at]) is not None else 0.0
            for at in places
        ),
        metric=block.metric,
    )


def _level(block: PointBlock, places: Sequence[int]) -> Level:
    newest = places[-MOST:]
    return Level(tuple(block.values[at] for at in newest), block.subjects[newest[-1]])
