"""The grid of levels of a series, and the costs of points and changes."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.changes.noise import NoiseModel

Floats = NDArray[np.float64]

#: Distance of two levels in sigmas; a finer grid costs time and does not find more, because stage 2 measures the levels.
RUNG = 0.4
#: Penalty per change at length n: PENALTY[0] * log n + PENALTY[1]; low enough to yield a few candidates too many.
PENALTY = (1.5, 2.0)
#: Bounds of the loss of one point, in sigmas squared.
BOUNDS = (7.0, 10.0)
#: Autocorrelation up to this value is regarded as random.
RHO_SLACK = 0.1


@dataclass(frozen=True, slots=True)
class Costs:
    """The constants of the fit, one per series."""

    penalty: Floats
    bound: Floats


def costs_of(noise: NoiseModel, length: int) -> Costs:
    """Penalty and bound for this noise.

    The penalty grows with the autocorrelation (Romano et al. 2022, J. Amer. Statist. Assoc. 117:2147-2162), the
    bound decreases with the share of outliers: it is the loss of a point of a wide second component.
    """
    rho = np.maximum(noise.rho - RHO_SLACK, 0.0)
    penalty = (PENALTY[0] * math.log(length) + PENALTY[1]) * (1 + rho) / (1 - rho)
    bound = np.clip(2 * np.log((1 - noise.outliers) / noise.outliers) + 1, *BOUNDS)
    return Costs(penalty, bound)


def rungs_for(scaled: Floats, reach: Floats | float) -> Floats:
    """Levels, as whole numbers of rungs, within ``reach`` (in sigmas) of a point, ascending.

    At any other level every point costs the bound, so entering a missing level costs the same as a change.
    """
    low = np.ceil((scaled - reach) / RUNG)
    high = np.floor((scaled + reach) / RUNG)
    order = np.argsort(low)
    low, high = low[order], np.maximum.accumulate(high[order])
    gaps = np.flatnonzero(low[1:] > high[:-1] + 1)
    firsts, lasts = [low[0], *low[gaps + 1]], [*high[gaps], high[-1]]
    return np.concatenate([np.arange(a, b + 1) for a, b in zip(firsts, lasts, strict=True)])
