"""Variances that are shrunk towards those of the other metrics of a comparison.

Few runs estimate a variance badly. Many metrics together show how variances are distributed, and each estimate is shrunk
towards their centre as far as they agree (Smyth 2004, Stat. Appl. Genet. Mol. Biol. 3:3).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri, polygamma, psi

Floats = NDArray[np.float64]

#: Minimum number of metrics for an estimate of the distribution of their variances.
FEWEST_METRICS = 10
#: Maximum weight of the other metrics, in degrees of freedom.
MOST_FREEDOM = 1000.0


@dataclass(frozen=True, slots=True)
class Prior:
    """What the other metrics say about a variance; a ``freedom`` of 0 says nothing."""

    variance: float = 0.0
    freedom: float = 0.0

    @classmethod
    def of(cls, variances: Sequence[float], freedoms: Sequence[float]) -> "Prior":
        """Estimate from the variances of metrics and their degrees of freedom; variances of 0 are left out."""
        known = np.array([(v, d) for v, d in zip(variances, freedoms, strict=True) if v > 0 and d > 0])
        if len(known) < FEWEST_METRICS:
            return cls()
        half = known[:, 1] / 2
        logs = np.log(known[:, 0]) - psi(half) + np.log(half)
        excess = float(logs.var(ddof=1) - polygamma(1, half).mean())
        freedom = min(2 * _trigamma_inverse(excess), MOST_FREEDOM) if excess > 0 else MOST_FREEDOM
        return cls(math.exp(float(logs.mean()) + float(psi(freedom / 2)) - math.log(freedom / 2)), freedom)

    def shrink(self, variance: Floats, freedom: float | Floats) -> tuple[Floats, Floats]:
        """The shrunk variances and their degrees of freedom.

        A variance that is larger than the others make plausible (1 % of an F distribution) is not shrunk: such a metric
        is noisier than the others (Phipson et al. 2016, Ann. Appl. Stat. 10:946-963). Zeros remain.
        """
        if self.freedom == 0:
            return variance, np.broadcast_to(np.asarray(freedom, dtype=np.float64), variance.shape)
        plausible = variance <= self.variance * fdtri(freedom, self.freedom, 0.99)
        weights = np.where(plausible & (variance > 0), self.freedom, 0.0)
        shrunk: Floats = (weights * self.variance + freedom * variance) / (weights + freedom)
        return shrunk, weights + freedom


def _trigamma_inverse(value: float) -> float:
    """The argument at which the trigamma function has this value, by Newton's method (Smyth 2004, appendix)."""
    at = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, at))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, at))
        at += step
        if abs(step) < 1e-8 * at:
            break
    return at
