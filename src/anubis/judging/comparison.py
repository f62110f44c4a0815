"""Comparison of two sets of runs, metric by metric."""

from collections import defaultdict
from collections.abc import Sequence

from anubis.model.points import Point
from anubis.model.verdict import Comparison, Sides


def compare_points(
    baseline: Sequence[Point], contender: Sequence[Point], *, min_effect: float = 0.02
) -> Comparison:
    """A verdict for every metric that both sides measured, in the order of the metrics of the baseline.

    Each run contributes one value, its point, because repeats inside a run are not independent. With several metrics
    the p values are adjusted for their number.
    """
    from anubis.analysis.samples.compare import compare_many  # noqa: PLC0415  numpy and scipy are needed only here

    old, new = _values(baseline), _values(contender)
    about = {point.metric: point for point in (*baseline, *contender)}
    return compare_many(
        Sides(
            metric=metric,
            baseline=tuple(old[metric]),
            contender=tuple(new[metric]),
            units=about[metric].units,
            better=about[metric].better,
            min_effect=min_effect,
        )
        for metric in old
        if metric in new
    )


def _values(points: Sequence[Point]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = defaultdict(list)
    for point in points:
        values[point.metric].append(point.value)
    return values
