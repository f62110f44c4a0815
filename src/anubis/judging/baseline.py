"""The current levels of many series at once: the baseline of a gate, and the source of its noise estimate."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress, pairwise
from math import isfinite
from typing import TypeVar

from anubis.analysis.changes.detection import find_changes
from anubis.analysis.samples.repeats import repeat_errors
from anubis.analysis.samples.spread import ROBUST_FROM, median
from anubis.judging.alert_rules import is_level_shift
from anubis.judging.baseline_size import LOOKBACK_POINTS
from anubis.judging.series import names_one_code
from anubis.model.alert import Alert, AlertState
from anubis.model.points import Point, PointBlock
from anubis.model.series import Series

#: Newest sessions of the level that are used: older ones come from other machines and toolchains.
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
    # The metrics of a run share its order, subject and session, and therefore the positions of the points that are used.
    positions: dict[tuple[object, ...], _Units] = {}
    chosen: dict[Key, tuple[PointBlock, _Units]] = {}
    for block in blocks:
        machine = (block.series_key, block.fingerprint)
        if machine in contenders:
            newest = next(iter(accepted.get((*machine, block.metric), ())), None)
            shared = (machine, newest and newest.id, block.run_ids)
            if shared not in positions:
                positions[shared] = _units_before(contenders[machine], newest, block)
            if (units := _with_values(block, positions[shared])).sizes:
                chosen[key_of(block)] = block, units
    changes = find_changes([_series(block, units) for block, units in chosen.values()])
    levels: dict[Key, Level] = {}
    for (key, (block, units)), starts in zip(chosen.items(), changes, strict=True):
        of_metric = shifts.get((block.series_key, block.fingerprint, block.metric), ())
        confirmed = {_first_unit(alert, block, units) for alert in of_metric}
        count = len(units.sizes)
        levels[key] = _level(block, units, [0, *sorted({*starts, *confirmed} - {0, count}), count])
    return levels


def _by_metric(alerts: Iterable[Alert]) -> dict[tuple[str, str, str], list[Alert]]:
    """Series key, fingerprint and metric -> the alerts about it, in order."""
    found: dict[tuple[str, str, str], list[Alert]] = {}
    for alert in alerts:
        for row in alert.rows:
            found.setdefault((row.series_key, row.fingerprint, row.metric), []).append(alert)
    return found


class _Units:
    """Positions of points in a block, oldest first: those of one subject and session together are one unit."""

    def __init__(self, units: Sequence[Sequence[int]]) -> None:
        self.sizes = tuple(map(len, units))
        self._positions = [at for unit in units for at in unit]
        #: Number of positions before each unit, and of all.
        self._edges = [0, *accumulate(self.sizes)]
        places = self._positions
        self._is_range = bool(places) and places == list(range(places[0], places[0] + len(places)))

    @property
    def start(self) -> int:
        """The first position of all."""
        return min(self._positions)

    def of(self, column: tuple[T, ...], first: int = 0, end: int | None = None) -> tuple[T, ...]:
        """The elements of a column of the block at the positions of the units from ``first`` to before ``end``."""
        low, high = self._edges[first], self._edges[-1 if end is None else end]
        if self._is_range:  # a slice is the fastest way to select
            return column[self._positions[0] + low : self._positions[0] + high]
        return tuple([column[at] for at in self._positions[low:high]])

    def split(self, column: tuple[T, ...]) -> list[tuple[T, ...]]:
        """The elements of a column, those of each unit together."""
        chosen = self.of(column)
        return [chosen[low:high] for low, high in pairwise(self._edges)]

    def before(self, position: int) -> int:
        """The number of units whose last position is before this one."""
        return sum(self._positions[end - 1] < position for end in self._edges[1:])

    def where(self, kept: Sequence[bool]) -> "_Units":
        """The units without the positions for which ``kept``, one for each position of the block, is false."""
        places = (self._positions[low:high] for low, high in pairwise(self._edges))
        units = [[at for at in unit if kept[at]] for unit in places]
        return _Units([unit for unit in units if unit])


def _first_unit(alert: Alert, block: PointBlock, units: _Units) -> int:
    """The first unit of the level that the alert is about; 0 if it began before, the number of units if after them."""
    start = _level_start(alert, block)
    return 0 if start is None else units.before(start)


def _level(block: PointBlock, units: _Units, bounds: Sequence[int]) -> Level:
    """The newest values of the last level, with the noise around all levels; ``bounds`` are their first units and the end."""
    first, end = max(bounds[-2], bounds[-1] - LEVEL_POINTS), bounds[-1]
    values = units.of(block.values, first, end)
    subjects = units.of(block.subjects, first, end)
    contaminated = units.of(block.contaminated, first, end)
    earlier = [units.of(block.values, low, high) for low, high in pairwise(bounds[:-1])]
    return Level(
        values,
        subjects[-1],
        len(set(subjects)),
        frozenset(compress(units.of(block.run_ids, first, end), contaminated)),
        units.sizes[first:end],
        noise_values=_around_last([*earlier, values]),
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


def _with_values(block: PointBlock, units: _Units) -> _Units:
    """The units without positions that have no value."""
    if isfinite(sum(block.values)):  # not if one of them is not finite
        return units
    return units.where([isfinite(value) for value in block.values])


def _units_before(contender: ContenderRuns, accepted: Alert | None, block: PointBlock) -> _Units:
    """The points before the contender, from the accepted level on if there is one.

    Runs of one subject in one session are one unit.
    """
    start = _level_start(accepted, block) if accepted else None
    if start is not None and block.subjects[start] in contender.subjects:
        kept = [at for at in range(start, len(block.run_ids)) if block.run_ids[at] not in contender.run_ids]
        return _Units(_grouped(kept, block))
    tested = contender.subjects - {""}
    before = range(start or 0, bisect_left(block.orders_s, contender.order_s))
    kept = [at for at in before if block.subjects[at] not in tested]
    return _Units(_grouped(kept, block)[-LOOKBACK_POINTS:])


def runs_needed(block: PointBlock, contender: ContenderRuns) -> int | None:
    """How many of the newest runs contain the points of LOOKBACK_POINTS units; None if all of them do not."""
    units = _units_before(contender, None, block)
    return len(block.run_ids) - units.start if len(units.sizes) >= LOOKBACK_POINTS else None


def _grouped(positions: Iterable[int], block: PointBlock) -> list[list[int]]:
    """The positions, those of each subject and session together."""
    units: dict[tuple[str, str] | int, list[int]] = {}
    for at in positions:
        subject, session = block.subjects[at], block.sessions[at]
        is_unit = session and names_one_code(subject)
        units.setdefault((subject, session) if is_unit else at, []).append(at)
    return list(units.values())


def _level_start(alert: Alert, block: PointBlock) -> int | None:
    """Position at which the level of the alert begins; None if it is before these points."""
    if alert.run_id in block.run_ids:
        return block.run_ids.index(alert.run_id)
    is_known = alert.first_new and alert.first_new in block.subjects
    return block.subjects.index(alert.first_new) if is_known else None


def _series(block: PointBlock, units: _Units) -> Series:
    """One point for each unit: its median, with the error of its repeats if it is a single run."""
    values, spreads, sizes = units.of(block.values), units.of(block.spreads), units.sizes
    if len(values) > len(sizes):
        values = tuple(median(sorted(unit)) for unit in units.split(block.values))
    errors: tuple[float, ...] = ()
    if any(spreads):
        firsts = zip(sizes, units.split(block.spreads), units.split(block.counts), strict=True)
        known = [(spread[0], count[0]) if size == 1 else (None, size) for size, spread, count in firsts]
        errors = repeat_errors(values, [spread for spread, _ in known], [count for _, count in known])
    return Series(values=values, errors=errors, metric=block.metric)
