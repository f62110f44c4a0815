"""The current levels of many series at once: what a gate compares with, and where it takes their noise from."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite, sqrt
from typing import TypeVar

from anubis.analysis.changes.detection import find_changes
from anubis.model.alert import Alert
from anubis.model.points import PointBlock
from anubis.model.series import Series

#: Points in which the level is looked for, and those of the level that count: older ones speak of another machine
#: room, toolchain and time.
LOOKED_AT = 25
MOST = 20
T = TypeVar("T")
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
    alerts = {
        (row.series_key, row.fingerprint, row.metric): alert for alert in accepted for row in alert.rows
    }
    # The metrics of a run share its order and subject, and so the places of the points that count.
    places = cache(_places)
    chosen: dict[Key, Series] = {}
    for block in blocks:
        machine = (block.series_key, block.fingerprint)
        if machine in newcomers:
            alert = alerts.get((*machine, block.metric))
            kept = places(newcomers[machine], alert, block.run_ids, block.orders_s, block.subjects)
            if numbers := [at for at in kept if isfinite(block.values[at])]:
                chosen[key_of(block)] = _series(block, numbers)
    changes = find_changes(list(chosen.values()))
    return {
        key: Level(series.values[found[-1] if found else 0 :][-MOST:], series.subjects[-1])
        for (key, series), found in zip(chosen.items(), changes, strict=True)
    }


def _places(
    newcomer: Newcomer,
    accepted: Alert | None,
    run_ids: tuple[str, ...],
    orders_s: tuple[float, ...],
    subjects: tuple[str, ...],
) -> list[int]:
    """Places of the points that were there before the newcomer, of the accepted level if there is one."""
    start = _accepted_at(accepted, run_ids, subjects) if accepted else None
    if start is not None and subjects[start] in newcomer.subjects:
        return [at for at in range(start, len(run_ids)) if run_ids[at] not in newcomer.run_ids]
    own = newcomer.subjects - {""}
    before = range(start or 0, bisect_left(orders_s, newcomer.order_s))
    return [at for at in before if subjects[at] not in own][-LOOKED_AT:]


def _accepted_at(alert: Alert, run_ids: tuple[str, ...], subjects: tuple[str, ...]) -> int | None:
    """Where the accepted level begins; None when that is further back than these points."""
    if alert.run_id in run_ids:
        return run_ids.index(alert.run_id)
    return subjects.index(alert.first_new) if alert.first_new and alert.first_new in subjects else None


def _series(block: PointBlock, places: Sequence[int]) -> Series:
    """The points at these places."""
    # Places in a row are by far the most common, and a slice is by far the quickest.
    row = slice(places[0], places[-1] + 1) if places[-1] - places[0] == len(places) - 1 else None

    def picked(column: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(column[at] for at in places) if row is None else column[row]

    errors: tuple[float, ...] = ()
    if any(spreads := picked(block.spreads)):
        errors = tuple(
            0.0 if spread is None else spread / sqrt(count)
            for spread, count in zip(spreads, picked(block.counts), strict=True)
        )
    return Series(
        values=picked(block.values), errors=errors, subjects=picked(block.subjects), metric=block.metric
    )
