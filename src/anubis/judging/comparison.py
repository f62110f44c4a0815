"""Comparison of two sets of runs, metric by metric."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from anubis.analysis.samples.compare import compare_many
from anubis.judging.rounds import Round, pairs
from anubis.judging.units import in_unit
from anubis.model.points import Point
from anubis.model.verdict import Comparison, Sides


def compare_points(
    baseline: Sequence[Point],
    contender: Sequence[Point],
    *,
    min_effect: float = 0.02,
    rounds: Mapping[str, Round] | None = None,
) -> Comparison:
    """A verdict for every metric that both sides measured, in the order of the metrics of the baseline.

    Each run contributes one value, its point, because repeats inside a run are not independent. With several metrics
    the p values are adjusted for their number. ``rounds`` are those of the runs that were measured in rounds: of these,
    the differences within the rounds are compared.
    """
    about = {point.metric: point for point in (*baseline, *contender)}
    units = {metric: point.units for metric, point in about.items()}
    old, new = _by_metric(baseline, units), _by_metric(contender, units)
    return compare_many(
        Sides(
            metric=metric,
            baseline=tuple(point.value for point in old[metric]),
            contender=tuple(point.value for point in new[metric]),
            pairs=pairs(
                [point.run_id for point in old[metric]], [point.run_id for point in new[metric]], rounds or {}
            ),
            units=about[metric].units,
            better=about[metric].better,
            min_effect=min_effect,
        )
        for metric in old
        if metric in new
    )


def _by_metric(points: Sequence[Point], units: Mapping[str, str]) -> dict[str, list[Point]]:
    """The points of each metric in its unit."""
    by_metric: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        by_metric[point.metric].append(point)
    return {metric: in_unit(own, units[metric]) for metric, own in by_metric.items()}
