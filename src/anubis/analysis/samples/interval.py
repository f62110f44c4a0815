"""The interval of a mean: Student's t."""

import math
from collections.abc import Sequence

from scipy.special import stdtrit

from anubis.analysis.samples.spread import mean, sample_deviation


def mean_interval(values: Sequence[float], *, level: float = 0.95) -> tuple[float, float] | None:
    """The confidence interval of the mean of independent values; None for fewer than two."""
    if len(values) < 2:
        return None
    half = half_width(sample_deviation(values), len(values), level=level)
    return mean(values) - half, mean(values) + half


def half_width(deviation: float, count: int, *, level: float = 0.95) -> float:
    """Half of the confidence interval of a mean of ``count`` values (at least two) with this standard deviation."""
    return float(stdtrit(count - 1, (1 + level) / 2)) * deviation / math.sqrt(count)
