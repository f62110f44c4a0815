"""The current levels of many series at once: the baseline of a gate, and the source of its noise estimate."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import isfinite
from typing import NamedTuple

from anubis.analysis.changes.detection import find_changes
from anubis.analysis.samples.repeats import repeat_errors
from anubis.analysis.samples.spread import ROBUST_FROM, median
from anubis.judging.alert_rules import is_level_shift
from anubis.judging.series import names_one_code
from anubis.model.alert import Alert, AlertState
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
    #: Number of subjects.
    subjects: int
    #: Runs during which the machine was disturbed.
    disturbed: frozenset[str]
    #: Number of runs in each session of each subject, in the order of the values; empty if they are not considered.
    sessions: tuple[int, ...] = ()
    #: Run of each value, if the runs were given.
    run_ids: tuple[str, ...] = ()
    #: Values whose spread is the noise of one run, all around this level: those of the level, and if they are few, those of
    #: earlier levels, moved by the difference of the levels.
    noise_values: tuple[float, ...] = ()


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
    alerts: Sequence[Alert],
) -> dict[Key, Level]:
    """The level of each series just before its contender; series without earlier points are left out.

    ``contenders`` are keyed by series key and fingerprint, ``alerts`` are the newest first. A level begins at the last
    change that is found or has a confirmed alert, or where a person accepted one. Runs of the contender's subject are not
    part of the baseline, unless its level was accepted: then they are the new baseline.
    """
    accepted = _by_metric(alert for alert in alerts if alert.state is AlertState.ACCEPTED)
    shifts = _by_metric(alert for alert in alerts if is_level_shift(alert))
    # The metrics of a run share its order and subject, and therefore the positions of the points that are used.
    positions = cache(_positions)
    chosen: dict[Key, tuple[PointBlock, list[list[int]]]] = {}
    for block in blocks:
        machine = (block.series_key, block.fingerprint)
        if machine in contenders:
            newest = next(iter(accepted.get((*machine, block.metric), ())), None)
            runs = _Runs(block.run_ids, block.orders_s, block.subjects, block.sessions)
            kept = positions(contenders[machine], newest, runs)
            if units := _with_values(block, kept):
                chosen[key_of(block)] = block, units
    changes = find_changes([_series(block, units) for block, units in chosen.values()])
    levels: dict[Key, Level] = {}
    for (key, (block, units)), starts in zip(chosen.items(), changes, strict=True):
        of_metric = shifts.get((block.series_key, block.fingerprint, block.metric), ())
        confirmed = {_first_unit(alert, block, units) for alert in of_metric}
        bounds = [0, *sorted({*starts, *confirmed} - {0, len(units)}), len(units)]
        levels[key] = _level(block, [units[first:last] for first, last in pairwise(bounds)])
    return levels


def _by_metric(alerts: Iterable[Alert]) -> dict[tuple[str, str, str], list[Alert]]:
    """Series key, fingerprint and metric -> the alerts about it, in order."""
    found: dict[tuple[str, str, str], list[Alert]] = {}
    for alert in alerts:
        for row in alert.rows:
            found.setdefault((row.series_key, row.fingerprint, row.metric), []).append(alert)
    return found


def _first_unit(alert: Alert, block: PointBlock, units: Sequence[Sequence[int]]) -> int:
    """The first unit of the level that the alert is about; 0 if it began before, the number of units if after them."""
    start = _level_start(alert, block.run_ids, block.subjects)
    return 0 if start is None else sum(unit[-1] < start for unit in units)


def _level(block: PointBlock, segments: Sequence[Sequence[Sequence[int]]]) -> Level:
    """The newest values of the last segment, with the noise around the levels of all."""
    units = segments[-1][-LEVEL_POINTS:]
    values = [
        tuple(block.values[at] for unit in segment for at in unit) for segment in (*segments[:-1], units)
    ]
    return Level(
        tuple(block.values[at] for unit in units for at in unit),
        block.subjects[units[-1][-1]],
        len({block.subjects[at] for unit in units for at in unit}),
        frozenset(block.run_ids[at] for unit in units for at in unit if block.contaminated[at]),
        tuple(map(len, units)),
        noise_values=_around_last(values),
    )


def _around_last(segments: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """The values of the last segment; if they are few, also those of long earlier segments, moved to its level."""
    last = segments[-1]
    if len(last) >= ROBUST_FROM:
        return last
    ratios = all(value > 0 for segment in segments for value in segment)
    level = median(sorted(last))
    moved: list[float] = []
    for segment in segments[:-1]:
        if len(segment) >= ROBUST_FROM:
            old = median(sorted(segment))
            moved += [value / old * level if ratios else value - old + level for value in segment]
    return (*moved, *last)


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
    start = _level_start(accepted, runs.ids, runs.subjects) if accepted else None
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


def _level_start(alert: Alert, run_ids: tuple[str, ...], subjects: tuple[str, ...]) -> int | None:
    """Position at which the level of the alert begins; None if it is before these points."""
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
        spreads = [block.spreads[unit[0]] if len(unit) == 1 else None for unit in units]
        counts = [block.counts[unit[0]] if len(unit) == 1 else len(unit) for unit in units]
        errors = repeat_errors(values, spreads, counts)
    return Series(
        values=values,
        errors=errors,
        subjects=tuple(block.subjects[unit[0]] for unit in units),
        metric=block.metric,
    )
