"""Run-to-run noise, and the effects that a number of runs can detect."""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]

#: Scales the median absolute deviation, and the 90 % quantile of absolute residuals, to a normal
#: standard deviation (Rousseeuw & Croux 1993, J. Amer. Statist. Assoc. 88:1273-1283).
MAD_TO_SIGMA = 1.4826
Q90_TO_SIGMA = 1 / 1.6449
#: Minimum number of values for the robust estimate of the spread.
ROBUST_FROM = 6
#: Efficiency of rank tests relative to t tests under normal noise (Hodges & Lehmann 1956, Ann. Math. Statist. 27:324-335).
RANK_EFFICIENCY = 3 / math.pi
#: Standard deviation of rounding to a step of 1.
_ROUNDING = 1 / math.sqrt(12)
#: Values from which on their median is noisier than their mean, and the ratio of the variances under normal noise.
_MEDIAN_FROM, MEDIAN_VARIANCE = 3, math.pi / 2
#: Maximum number of runs that is proposed for one verdict.
MAX_RUNS = 1000


def median(ordered: Sequence[float]) -> float:
    """Median of sorted values; at least one."""
    n = len(ordered)
    if n == 1:
        return ordered[0]
    low, high = ordered[(n - 1) // 2], ordered[n // 2]
    return low if low == high else low * 0.5 + high * 0.5


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean; at least one value."""
    return math.fsum(values) / len(values)


def sample_deviation(values: Sequence[float]) -> float:
    """Sample standard deviation; at least two values."""
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def median_variance(count: int) -> float:
    """The variance of the median of this many values, over the variance of one."""
    return (MEDIAN_VARIANCE if count >= _MEDIAN_FROM else 1.0) / count


def noise_floor(values: Sequence[float]) -> float | None:
    """Standard deviation of one run around its level, in the unit of the values; None with fewer than 3.

    With 3 to 5 values the sample standard deviation; with more the larger of 1.4826 MAD and the scaled
    90 % quantile of absolute residuals: both are robust to one outlier, the second also reflects two clusters. Values
    that recur have a resolution; the noise is at least that of rounding to it, resolution / sqrt(12).
    """
    n = len(values)
    if n < 3:
        return None
    ordered = sorted(values)
    if ordered[0] == ordered[-1]:
        return 0.0
    rounding = resolution(ordered) * _ROUNDING
    if n < ROBUST_FROM:
        return max(sample_deviation(values), rounding)
    centre = median(ordered)
    distances = sorted([abs(value - centre) for value in ordered])
    at = 0.9 * (n - 1)
    low = int(at)
    q90 = distances[low] + (at - low) * (distances[min(low + 1, n - 1)] - distances[low])
    return max(MAD_TO_SIGMA * median(distances), Q90_TO_SIGMA * q90, rounding)


def noise_floors(rows: Floats) -> Floats:
    """``noise_floor`` of each row, shape (rows, values), with at least 3 values."""
    ordered = np.sort(rows, axis=1)
    rounding = np.zeros(len(rows))
    gaps = np.diff(ordered, axis=1)
    recur = np.nonzero((gaps == 0).any(axis=1) & (ordered[:, 0] < ordered[:, -1]))[0]
    rounding[recur] = np.where(gaps[recur] > 0, gaps[recur], np.inf).min(axis=1, initial=np.inf) * _ROUNDING
    if rows.shape[1] < ROBUST_FROM:
        deviations: Floats = np.maximum(rows.std(axis=1, ddof=1), rounding)
        return deviations
    distances = np.sort(np.abs(ordered - _medians(ordered)[:, None]), axis=1)
    low, part = divmod(0.9 * (rows.shape[1] - 1), 1)
    before, after = distances[:, int(low)], distances[:, min(int(low) + 1, rows.shape[1] - 1)]
    robust = np.maximum(MAD_TO_SIGMA * _medians(distances), Q90_TO_SIGMA * (before + part * (after - before)))
    floors: Floats = np.maximum(robust, rounding)
    return floors


def _medians(ordered: Floats) -> Floats:
    """The median of each sorted row."""
    n = ordered.shape[1]
    medians: Floats = ordered[:, (n - 1) // 2] * 0.5 + ordered[:, n // 2] * 0.5
    return medians


def resolution(ordered: Sequence[float]) -> float:
    """The smallest step between sorted values of which some recur; 0 if none does or all are equal."""
    distinct = sorted(set(ordered))
    if len(distinct) in (1, len(ordered)):
        return 0.0
    return min(after - before for before, after in pairwise(distinct))


@lru_cache(maxsize=4096)
def _factor(n_baseline: int, n_contender: int, freedom: float) -> float:
    spread = math.sqrt(1 / n_baseline + 1 / n_contender)
    if min(n_baseline, n_contender) >= ROBUST_FROM:
        spread /= math.sqrt(RANK_EFFICIENCY)
    return float(stdtrit(freedom, 0.975) + stdtrit(freedom, 0.8)) * spread


def smallest_detectable(
    noise: float, n_baseline: int, n_contender: int, freedom: float | None = None
) -> float | None:
    """Smallest difference that these numbers of runs detect at 5 % (two-sided) with 80 % power.

    (t.975 + t.8) * noise * sqrt(1/n + 1/m) (Cohen 1988, Statistical Power Analysis, ch. 2), in the unit of
    ``noise``, divided by the root of the rank test's efficiency where the rank test is used. ``freedom`` are the
    degrees of freedom of ``noise``; default: n + m - 2. None if no difference can be detected.
    """
    freedom = n_baseline + n_contender - 2 if freedom is None else freedom
    if min(n_baseline, n_contender) < 1 or freedom <= 0:
        return None
    return noise * _factor(n_baseline, n_contender, freedom)


def runs_needed(noise: float, difference: float) -> int | None:
    """Number of runs on each side that detect this difference with 80 % power; None above MAX_RUNS."""
    if not difference > 0:
        return None
    low, high = 3, MAX_RUNS + 1
    while low < high:
        n = (low + high) // 2
        if noise * _factor(n, n, 2 * n - 2) <= difference:
            high = n
        else:
            low = n + 1
    return low if low <= MAX_RUNS else None


def smallest_shift(
    noise: float, n_before: int, n_after: int, *, threshold: float, inflation: float = 1.0
) -> float:
    """Smallest change of level that reaches ``threshold`` standard errors with 80 % power, in the unit of ``noise``.

    (threshold + z.8) standard errors; ``inflation`` is the variance of a mean over that of independent points.
    """
    return (threshold + 0.8416) * noise * math.sqrt(inflation * (1 / n_before + 1 / n_after))
