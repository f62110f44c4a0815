"""The current levels of many series at once: the baseline of a gate, and the source of its noise estimate."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite, sqrt
from typing import NamedTuple

from anubis.analysis.changes.detection import find_changes
from anubis.analysis.samples.spread import median
from anubis.judging.series import names_one_code
from anubis.model.alert import Alert
from anubis.model.points import Point, PointBlock
from anubis.model.series import Series

#: Newest sessions of a subject in which the level is searched, and newest ones of the level that are used: older ones
#: come from other machines and toolchains.
LOOKBACK_POINTS = 25
LEVEL_POINTS = 20
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
    #: Number of runs in each session of each subject, in the order of the values; empty if they are not considered.
    sessions: tuple[int, ...] = ()
    #: Run of each value, if the runs were given.
    run_ids: tuple[str, ...] = ()


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
    chosen: dict[Key, tuple[PointBlock, list[list[int]]]] = {}
    for block in blocks:
        machine = (block.series_key, block.fingerprint)
        if machine in contenders:
            alert = alerts.get((*machine, block.metric))
            runs = _Runs(block.run_ids, block.orders_s, block.subjects, block.sessions)
            kept = positions(contenders[machine], alert, runs)
            if units := _with_values(block, kept):
                chosen[key_of(block)] = block, units
    changes = find_changes([_series(block, units) for block, units in chosen.values()])
    return {
        key: _level(block, units[starts[-1] if starts else 0 :][-LEVEL_POINTS:])
        for (key, (block, units)), starts in zip(chosen.items(), changes, strict=True)
    }


def _level(block: PointBlock, units: Sequence[Sequence[int]]) -> Level:
    """The values of these units."""
    return Level(
        tuple(block.values[at] for unit in units for at in unit),
        block.subjects[units[-1][-1]],
        frozenset(block.run_ids[at] for unit in units for at in unit if block.contaminated[at]),
        tuple(map(len, units)),
    )


def session_sizes(points: Sequence[Point]) -> tuple[list[Point], tuple[int, ...]]:
    """The points of a contender with those of each session together, and their number in each session."""
    sessions: dict[str, list[Point]] = {}
    for point in points:
        sessions.setdefault(point.session, []).append(point)
    return [point for each in sessions.values() for point in each], tuple(map(len, sessions.values()))


def _with_values(block: PointBlock, units: list[list[int]]) -> list[list[int]]:
    """The units without positions that have no value."""
    if all(map(isfinite, block.values)):
        return units
    kept = [[at for at in unit if isfinite(block.values[at])] for unit in units]
    return [unit for unit in kept if unit]


class _Runs(NamedTuple):
    """The columns of a block that its metrics share."""

    ids: tuple[str, ...]
    orders_s: tuple[float, ...]
    subjects: tuple[str, ...]
    sessions: tuple[str, ...]


def _positions(contender: ContenderRuns, accepted: Alert | None, runs: _Runs) -> list[list[int]]:
    """Positions of the points before the contender, from the accepted level on if there is one.

    Runs of one subject in one session are one unit: its positions are in one list.
    """
    start = _accepted_at(accepted, runs.ids, runs.subjects) if accepted else None
    if start is not None and runs.subjects[start] in contender.subjects:
        kept = [at for at in range(start, len(runs.ids)) if runs.ids[at] not in contender.run_ids]
        return _units(kept, runs)
    tested = contender.subjects - {""}
    before = range(start or 0, bisect_left(runs.orders_s, contender.order_s))
    return _units([at for at in before if runs.subjects[at] not in tested], runs)[-LOOKBACK_POINTS:]


def _units(positions: Iterable[int], runs: _Runs) -> list[list[int]]:
    """The positions, those of each subject and session together."""
    units: dict[tuple[str, str] | int, list[int]] = {}
    for at in positions:
        subject, session = runs.subjects[at], runs.sessions[at]
        is_unit = session and names_one_code(subject)
        units.setdefault((subject, session) if is_unit else at, []).append(at)
    return list(units.values())


def _accepted_at(alert: Alert, run_ids: tuple[str, ...], subjects: tuple[str, ...]) -> int | None:
    """Position at which the accepted level begins; None if it is before these points."""
    if alert.run_id in run_ids:
        return run_ids.index(alert.run_id)
    return subjects.index(alert.first_new) if alert.first_new and alert.first_new in subjects else None


def _series(block: PointBlock, units: Sequence[Sequence[int]]) -> Series:
    """One point for each unit: its median, with the error of its repeats if it is a single run."""
    # Single runs at consecutive positions are the most common case, and a slice is the fastest way to select them.
    first, last = units[0][0], units[-1][-1]
    if len(units) == last - first + 1 and all(len(unit) == 1 for unit in units):
        values = block.values[first : last + 1]
    else:
        values = tuple(median(sorted(block.values[at] for at in unit)) for unit in units)
    errors: tuple[float, ...] = ()
    if any(block.spreads[at] for unit in units for at in unit):
        errors = tuple(_error(block, unit) for unit in units)
    return Series(
        values=values,
        errors=errors,
        subjects=tuple(block.subjects[unit[0]] for unit in units),
        metric=block.metric,
    )


def _error(block: PointBlock, unit: Sequence[int]) -> float:
    """The standard error of a single run from its repeats; 0 if it is unknown."""
    spread = block.spreads[unit[0]]
    return spread / sqrt(block.counts[unit[0]]) if len(unit) == 1 and spread is not None else 0.0
