"""The current levels of many series at once: the baseline of a gate, and the source of its noise estimate."""

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

#: Newest points in which the level is searched, and newest points of the level that are used: older points come from
#: other machines and toolchains.
LOOKBACK_POINTS = 25
LEVEL_POINTS = 20
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
    #: Runs during which the machine was disturbed.
    disturbed: frozenset[str]


@dataclass(frozen=True, slots=True)
class ContenderRuns:
    """The runs under test: only points before them belong to the baseline."""

    #: UTC seconds, as in ``Point.order_s``.
    order_s: float
    subjects: frozenset[str]
    run_ids: frozenset[str]


def key_of(block: PointBlock) -> Key:
    """The key under which values are comparable."""
    return block.series_key, block.fingerprint, block.metric, block.units


def baseline_levels(
    blocks: Iterable[PointBlock],
    contenders: Mapping[tuple[str, str], ContenderRuns],
    accepted: Iterable[Alert],
) -> dict[Key, Level]:
    """The level of each series just before its contender; series without earlier points are left out.

    ``contenders`` are keyed by series key and fingerprint. A level begins at the last change, or where a person
    accepted one. Runs of the contender's subject are not part of the baseline, unless its level was accepted: then
    they are the new baseline.
    """
    alerts = {
        (row.series_key, row.fingerprint, row.metric): alert for alert in accepted for row in alert.rows
    }
    # The metrics of a run share its order and subject, and therefore the positions of the points that are used.
    positions = cache(_positions)
    chosen: dict[Key, tuple[Series, PointBlock, list[int]]] = {}
    for block in blocks:
        machine = (block.series_key, block.fingerprint)
        if machine in contenders:
            alert = alerts.get((*machine, block.metric))
            kept = positions(contenders[machine], alert, block.run_ids, block.orders_s, block.subjects)
            if numbers := [at for at in kept if isfinite(block.values[at])]:
                chosen[key_of(block)] = _series(block, numbers), block, numbers
    changes = find_changes([series for series, _, _ in chosen.values()])
    return {
        key: _level(block, numbers[starts[-1] if starts else 0 :][-LEVEL_POINTS:])
        for (key, (_, block, numbers)), starts in zip(chosen.items(), changes, strict=True)
    }


def _level(block: PointBlock, positions: Sequence[int]) -> Level:
    return Level(
        tuple(block.values[at] for at in positions),
        block.subjects[positions[-1]],
        frozenset(block.run_ids[at] for at in positions if block.contaminated[at]),
    )


def _positions(
    contender: ContenderRuns,
    accepted: Alert | None,
    run_ids: tuple[str, ...],
    orders_s: tuple[float, ...],
    subjects: tuple[str, ...],
) -> list[int]:
    """Positions of the points before the contender, from the accepted level on if there is one."""
    start = _accepted_at(accepted, run_ids, subjects) if accepted else None
    if start is not None and subjects[start] in contender.subjects:
        return [at for at in range(start, len(run_ids)) if run_ids[at] not in contender.run_ids]
    tested = contender.subjects - {""}
    before = range(start or 0, bisect_left(orders_s, contender.order_s))
    return [at for at in before if subjects[at] not in tested][-LOOKBACK_POINTS:]


def _accepted_at(alert: Alert, run_ids: tuple[str, ...], subjects: tuple[str, ...]) -> int | None:
    """Position at which the accepted level begins; None if it is before these points."""
    if alert.run_id in run_ids:
        return run_ids.index(alert.run_id)
    return subjects.index(alert.first_new) if alert.first_new and alert.first_new in subjects else None


def _series(block: PointBlock, positions: Sequence[int]) -> Series:
    """The points at these positions."""
    # Consecutive positions are the most common case, and a slice is the fastest way to select them.
    is_consecutive = positions[-1] - positions[0] == len(positions) - 1
    row = slice(positions[0], positions[-1] + 1) if is_consecutive else None

    def picked(column: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(column[at] for at in positions) if row is None else column[row]

    errors: tuple[float, ...] = ()
    if any(spreads := picked(block.spreads)):
        errors = tuple(
            0.0 if spread is None else spread / sqrt(count)
            for spread, count in zip(spreads, picked(block.counts), strict=True)
        )
    return Series(
        values=picked(block.values), errors=errors, subjects=picked(block.subjects), metric=block.metric
    )
