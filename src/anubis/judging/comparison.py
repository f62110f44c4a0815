"""Comparison of two sets of runs, metric by metric."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from anubis.analysis.samples.compare import compare_many
from anubis.judging.rounds import Slot, pairs_of, slots_of
from anubis.judging.units import in_unit
from anubis.model.points import Point
from anubis.model.run import Run
from anubis.model.verdict import Comparison, Sides


def compare_points(
    baseline: Sequence[Point],
    contender: Sequence[Point],
    *,
    min_effect: float = 0.02,
    runs: Sequence[Run] = (),
) -> Comparison:
    """A verdict for every metric that both sides measured, in the order of the metrics of the baseline.

    Each run contributes one value, its point, because repeats inside a run are not independent. With several metrics
    the p values are adjusted for their number. ``runs`` are those of both sides: of those that were measured in the
    same round the differences are compared.
    """
    about = {point.metric: point for point in (*baseline, *contender)}
    units = {metric: point.units for metric, point in about.items()}
    old, new = _by_metric(baseline, units), _by_metric(contender, units)
    slots = slots_of(runs)
    return compare_many(
        _sides(about[metric], old[metric], new[metric], min_effect, slots) for metric in old if metric in new
    )


def in_rounds(
    baseline: Sequence[Point], contender: Sequence[Point], rounds: Mapping[str, int], *, min_effect: float
) -> list[Sides]:
    """Every metric that both sides measured, with the values of the rounds in which both did, in their order.

    ``rounds``: run id -> number of its round.
    """
    about = {point.metric: point for point in (*baseline, *contender)}
    units = {metric: point.units for metric, point in about.items()}
    old, new = _by_metric(baseline, units), _by_metric(contender, units)
    return [
        _paired(about[metric], old[metric], new[metric], min_effect, rounds)
        for metric in old
        if metric in new
    ]


def _paired(
    about: Point, old: Sequence[Point], new: Sequence[Point], min_effect: float, rounds: Mapping[str, int]
) -> Sides:
    values = [{rounds[point.run_id]: point.value for point in side} for side in (old, new)]
    both = sorted(values[0].keys() & values[1].keys())
    return Sides(
        metric=about.metric,
        baseline=tuple(values[0][number] for number in both),
        contender=tuple(values[1][number] for number in both),
        units=about.units,
        better=about.better,
        min_effect=min_effect,
        pairs=tuple((at, at) for at in range(len(both))),
    )


def _sides(
    about: Point, old: Sequence[Point], new: Sequence[Point], min_effect: float, slots: Mapping[str, Slot]
) -> Sides:
    together = pairs_of([point.run_id for point in old], [point.run_id for point in new], slots)
    return Sides(
        metric=about.metric,
        baseline=tuple(point.value for point in old),
        contender=tuple(point.value for point in new),
        units=about.units,
        better=about.better,
        min_effect=min_effect,
        pairs=together.positions,
        contender_second=together.contender_second,
    )


def _by_metric(points: Sequence[Point], units: Mapping[str, str]) -> dict[str, list[Point]]:
    """The points of each metric in its unit."""
    by_metric: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        by_metric[point.metric].append(point)
    return {metric: in_unit(own, units[metric]) for metric, own in by_metric.items()}
