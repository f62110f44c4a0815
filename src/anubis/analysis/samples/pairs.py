"""Comparison of alternated pairs: what both runs of a pair share, such as the state of the machine, cancels."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from anubis.analysis.samples.ranks import Shift
from anubis.analysis.samples.sessions import student
from anubis.analysis.samples.spread import median, sample_deviation

Floats = NDArray[np.float64]

#: Required p of the ranks (two-sided) where they cannot reach the required level, and the number of pairs that can reach it.
GUARD, RANKS_FROM = 0.02, 7
#: Up to this many pairs the null distribution is computed exactly.
_EXACT_PAIRS = 60
#: Variance of the Hodges-Lehmann estimate over that of the mean under normal noise.
_CENTRE_VARIANCE = math.pi / 3
#: Maximum weight of the known noise, in degrees of freedom.
_KNOWN_FREEDOM = 20


def compare_pairs(
    differences: Sequence[float], *, noise: float | None = None, freedom: int = 0, alpha: float = 0.02
) -> Shift | None:
    """The location of the differences, contender minus baseline, with its interval; None if they cannot be judged.

    The estimate is the median of all averages of two differences (Hodges & Lehmann 1963). Interval and p are those of
    Wilcoxon's signed-rank test if so many pairs can be significant at ``alpha``. Else they are Student's; the standard
    deviation of a difference is shrunk towards ``noise``, which is known from ``freedom`` degrees of freedom (Smyth 2004,
    Stat. Appl. Genet. Mol. Biol. 3:3), and from 7 pairs on p is at least that of the ranks if that is above 2 %. The
    interval has confidence 1 - ``alpha``.
    """
    count = len(differences)
    if count and 2.0 ** (1 - count) <= alpha:
        return signed_rank(differences, alpha)
    weight = min(freedom, _KNOWN_FREEDOM) if noise is not None else 0
    total = weight + max(count - 1, 0)
    if count == 0 or total == 0:
        return None
    if count >= RANKS_FROM and (ranks := signed_rank(differences, alpha)).p > GUARD:
        return ranks
    own = (count - 1) * sample_deviation(differences) ** 2 if count > 1 else 0.0
    variance = (weight * (noise or 0.0) ** 2 + own) / total
    estimate = median(_averages(differences))
    return student(estimate, math.sqrt(variance / count * _CENTRE_VARIANCE), total, alpha)


def signed_rank(differences: Sequence[float], alpha: float = 0.02) -> Shift:
    """Wilcoxon's signed-rank test with its interval (Hollander, Wolfe & Chicken 2014, 3.1-3.3).

    Differences of zero count half for each side, which is conservative.
    """
    averages = _averages(differences)
    count, total = len(differences), len(averages)
    null = _null_cdf(count)
    above = sum(average > 0 for average in averages)
    below = sum(average < 0 for average in averages)
    p = 2 * float(null[min(total - above, total - below)])
    outside = int(np.searchsorted(null, alpha / 2, side="right"))
    low, high = (averages[outside - 1], averages[total - outside]) if outside else (-math.inf, math.inf)
    return Shift(median(averages), low, high, min(1.0, p))


def rank_level(count: int, most: float) -> float:
    """The largest two-sided p of this many pairs that is at most ``most``; 0: their ranks cannot reach it."""
    null = _null_cdf(count)
    outside = int(np.searchsorted(null, most / 2, side="right"))
    return 2 * float(null[outside - 1]) if outside else 0.0


def _averages(differences: Sequence[float]) -> list[float]:
    """The averages of all pairs of differences, each with itself included, sorted."""
    values = np.asarray(differences, dtype=np.float64)
    first, second = np.triu_indices(len(values))
    averages: list[float] = np.sort(values[first] / 2 + values[second] / 2).tolist()
    return averages


@lru_cache(maxsize=64)
def _null_cdf(count: int) -> Floats:
    """P(W <= w) for w = 0 .. count (count + 1) / 2 under the null hypothesis; shape (count (count + 1) / 2 + 1,)."""
    size = count * (count + 1) // 2 + 1
    if count > _EXACT_PAIRS:
        deviation = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        normal: Floats = ndtr((np.arange(size) + 0.5 - (size - 1) / 2) / deviation)
        return normal
    shares = np.zeros(size)
    shares[0] = 1.0
    for rank in range(1, count + 1):
        shares[rank:] = (shares[rank:] + shares[:-rank]) / 2
        shares[:rank] /= 2
    return np.cumsum(shares)
