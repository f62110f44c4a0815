"""The results of a sweep by combination: the runs that differ only in their seed are one row."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Any

from anubis.analysis.samples.interval import half_width, mean_interval
from anubis.contracts.runs import RunRow
from anubis.describe.matrix.axes import SEED_AXIS
from anubis.model.points import Point
from anubis.model.status import Status
from anubis.suites.halving import Cut
from anubis.suites.sweep_state import SweepState


class Over(StrEnum):
    """What the values of an estimate differ in."""

    SEEDS = "seeds"
    REPEATS = "repeats"
    #: A single value.
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The value of a metric in one combination."""

    #: Mean over seeds; of a single run, its value: the median over its repeats.
    mean: float
    units: str
    #: Limits of the 95 % interval; None for a single value.
    interval: tuple[float, float] | None
    #: Number of values.
    count: int
    over: Over


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """A cell of the sweep with its run."""

    position: int
    values: Mapping[str, Any]
    #: None: not submitted.
    run: RunRow | None
    points: Sequence[Point]
    #: Why it is not measured.
    cut: Cut | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """The cells that differ only in their seed."""

    #: Axis -> value, without the seed.
    values: Mapping[str, Any]
    cells: Sequence[CellResult]
    metrics: Mapping[str, Estimate]

    @property
    def cut(self) -> Cut | None:
        """Why its remaining cells are not measured."""
        return next((cell.cut for cell in self.cells if cell.cut), None)

    def count(self, status: Status) -> int:
        """Number of cells whose run has this status."""
        return sum(cell.run is not None and cell.run.status is status for cell in self.cells)


def results_of(
    state: SweepState, cells: Sequence[Mapping[str, Any]], points: Sequence[Point]
) -> list[CellResult]:
    """The cells of a sweep in their order. ``points`` are those of its runs."""
    by_run: dict[str, list[Point]] = {}
    for point in points:
        by_run.setdefault(point.run_id, []).append(point)
    found = []
    for position, values in enumerate(cells):
        run = state.runs.get(position)
        mine = by_run.get(run.id, []) if run and run.status is Status.SUCCEEDED else []
        result = CellResult(
            position=position, values=values, run=run, points=mine, cut=state.cut.get(position)
        )
        found.append(result)
    return found


def combinations_of(results: Sequence[CellResult]) -> list[Combination]:
    """The combinations in the order of their first cells."""
    groups: dict[tuple[tuple[str, str], ...], list[CellResult]] = {}
    for result in results:
        key = tuple((axis, repr(value)) for axis, value in result.values.items() if axis != SEED_AXIS)
        groups.setdefault(key, []).append(result)
    return [
        Combination(
            values={axis: value for axis, value in group[0].values.items() if axis != SEED_AXIS},
            cells=group,
            metrics=_estimates([point for cell in group for point in cell.points]),
        )
        for group in groups.values()
    ]


def _estimates(points: Sequence[Point]) -> dict[str, Estimate]:
    by_metric: dict[str, list[Point]] = {}
    for point in points:
        if math.isfinite(point.value):
            by_metric.setdefault(point.metric, []).append(point)
    return {metric: _estimate(mine) for metric, mine in by_metric.items()}


def _estimate(points: Sequence[Point]) -> Estimate:
    first = points[0]
    if len(points) == 1 and first.spread is not None and first.count > 1:
        half = half_width(first.spread, first.count)
        interval = first.value - half, first.value + half
        return Estimate(
            mean=first.value, units=first.units, interval=interval, count=first.count, over=Over.REPEATS
        )
    values = [point.value for point in points]
    over = Over.SEEDS if len(points) > 1 else Over.NOTHING
    return Estimate(
        mean=fmean(values), units=first.units, interval=mean_interval(values), count=len(values), over=over
    )
