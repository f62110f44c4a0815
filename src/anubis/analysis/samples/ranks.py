"""Rank statistics of two samples: the exact Mann-Whitney test and the corresponding interval."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]

#: Up to this many values in both samples together the counts of the null distribution fit 63 bits.
EXACT_TOTAL = 64
#: Above this many pairs the differences are searched instead of listed, to limit memory to 8 MB.
MAX_PAIRS = 1_000_000


@dataclass(frozen=True, slots=True)
class Shift:
    """The location difference of the second sample from the first, in the unit of the samples."""

    estimate: float
    low: float
    high: float
    #: Two-sided probability under "same distribution".
    p: float


@lru_cache(maxsize=256)
def null_cdf(m: int, n: int) -> Floats:
    """P(U <= u) for u = 0 .. m*n under the null hypothesis, exact; shape (m*n + 1,).

    The number of arrangements with statistic u is the coefficient of q^u in the Gaussian binomial
    [m+n choose m] (Mann & Whitney 1947, Ann. Math. Statist. 18:50-60; Andrews 1976, The Theory of
    Partitions, ch. 3), multiplied up one factor (1 - q^(n+i)) / (1 - q^i) at a time in whole numbers.
    """
    m, n = min(m, n), max(m, n)
    size = m * n + 1
    counts = np.zeros(size, dtype=np.int64)
    counts[0] = 1
    for i in range(1, m + 1):
        raised = counts.copy()
        raised[n + i :] -= counts[: max(size - n - i, 0)]
        padded = np.zeros(-(-size // i) * i, dtype=np.int64)
        padded[:size] = raised
        counts = padded.reshape(-1, i).cumsum(axis=0).ravel()[:size]
    return np.cumsum(counts) / math.comb(m + n, m)


def null_probability(u: int, m: int, n: int) -> float:
    """P(U <= u): exact for small samples, beyond them normal with continuity correction."""
    if u < 0:
        return 0.0
    if m + n <= EXACT_TOTAL:
        return float(null_cdf(m, n)[min(u, m * n)])
    deviation = math.sqrt(m * n * (m + n + 1) / 12)
    return float(ndtr((u + 0.5 - m * n / 2) / deviation))


@lru_cache(maxsize=1024)
def critical_count(m: int, n: int, alpha: float = 0.05) -> int:
    """The minimum number of smallest (and largest) pairwise differences outside the interval."""
    if m + n <= EXACT_TOTAL:
        return int(np.searchsorted(null_cdf(m, n), alpha / 2, side="right"))
    deviation = math.sqrt(m * n * (m + n + 1) / 12)
    count = max(0, math.floor(m * n / 2 + float(ndtri(alpha / 2)) * deviation))
    while null_probability(count, m, n) <= alpha / 2:
        count += 1
    while count > 0 and null_probability(count - 1, m, n) > alpha / 2:
        count -= 1
    return count


def shift(baseline: Floats, contender: Floats, alpha: float = 0.05) -> Shift:
    """Hodges-Lehmann estimate of contender minus baseline with the exact Mann-Whitney interval.

    The estimate is the median of all pairwise differences (Hodges & Lehmann 1963, Ann. Math. Statist.
    34:598-611), the interval runs between two of them (Hollander, Wolfe & Chicken 2014, Nonparametric
    Statistical Methods, 4.3). Ties count against a difference on both sides, which is conservative and makes p and
    interval consistent: the interval excludes 0 exactly if p <= alpha.
    Both samples have shape (any,), are sorted and finite, and hold at least one value.
    """
    m, n = len(baseline), len(contender)
    total, outside = m * n, critical_count(m, n, alpha)
    ranks = (outside - 1, (total - 1) // 2, total // 2, total - outside)
    if total <= MAX_PAIRS:
        pairs = np.subtract.outer(contender, baseline).ravel()
        pairs.sort()
        not_above = int(pairs.searchsorted(0.0, side="right"))
        not_below = total - int(pairs.searchsorted(0.0, side="left"))
        low, left, right, high = (float(pairs[min(max(at, 0), total - 1)]) for at in ranks)
    else:
        not_above = int(np.searchsorted(contender, baseline, side="right").sum())
        not_below = total - int(np.searchsorted(contender, baseline, side="left").sum())
        low, left, right, high = (_ranked_difference(baseline, contender, at) for at in ranks)
    if outside == 0:
        low, high = -math.inf, math.inf
    p = 2 * min(null_probability(not_above, m, n), null_probability(not_below, m, n))
    return Shift((left + right) / 2, low, high, min(1.0, p))


def _ranked_difference(baseline: Floats, contender: Floats, rank: int) -> float:
    """The pairwise difference of this rank (from 0) by bisection on its value, without listing all pairs."""
    low, high = float(contender[0] - baseline[-1]), float(contender[-1] - baseline[0])
    while (middle := (low + high) / 2) not in (low, high):
        if int(np.searchsorted(contender, baseline + middle, side="right").sum()) > rank:
            high = middle
        else:
            low = middle
    return high
