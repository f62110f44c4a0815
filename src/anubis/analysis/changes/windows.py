"""The points around candidates, for many candidates at once: up to SIDE before and after each."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.samples.spread import MAD_TO_SIGMA, Q90_TO_SIGMA

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: Maximum number of points on each side of a candidate.
SIDE = 80
#: Minimum number of points of a level.
FEWEST = 3
#: Weight of the noise of the series relative to local residuals, in points.
PSEUDO_POINTS = 4

#: Highest autocorrelation that is taken into account.
MAX_RHO = 0.85

_OFFSETS = np.arange(-SIDE, SIDE)


@dataclass(frozen=True, slots=True)
class Rows:
    """Candidates: row of the series, first index of the left side, first index of the right side, and its end."""

    series: Ints
    low: Ints
    at: Ints
    high: Ints

    @classmethod
    def of(cls, keys: list[tuple[int, int, int, int]]) -> "Rows":
        """Create from (series, first old point, first new point, end of the new level); sides are limited to SIDE points."""
        columns = np.array(keys, dtype=np.int64).reshape(-1, 4).T
        at = columns[2]
        return cls(columns[0], np.maximum(columns[1], at - SIDE), at, np.minimum(columns[3], at + SIDE))


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of the series, in working units."""

    #: Standard deviation of a typical point; shape (series,).
    sigma: Floats
    #: Lag-1 autocorrelation; shape (series,).
    rho: Floats
    #: Standard deviation of each point over sigma, if repeats are known; shape (series, points).
    relative: Floats | None = None


@dataclass(frozen=True, slots=True)
class Sides:
    """The points around candidates, shape (rows, 2 * SIDE): left sides end at column SIDE, right sides start there."""

    values: Floats
    inside: Mask
    n_left: Ints
    n_right: Ints
    #: Both halves sorted, infinity at the end.
    left: Floats
    right: Floats
    level_left: Floats
    level_right: Floats
    #: Deviation of each point over that of a typical one; None: all the same.
    relative: Floats | None
    #: Values minus the level of their side, over ``relative``; zero outside.
    residuals: Floats
    #: Local standard deviation of a typical point.
    deviation: Floats


def inflation_of(rho: Floats) -> Floats:
    """Variance of a mean over that of independent points, for noise with this lag-1 autocorrelation; at least 1."""
    limited = np.clip(rho, 0.0, MAX_RHO)
    inflation: Floats = (1 + limited) / (1 - limited)
    return inflation


def gather(work: Floats, rows: Rows, noise: Noise) -> Sides:
    """The sides of candidates in ``work`` (series, points)."""
    places = rows.at[:, None] + _OFFSETS
    inside = (places >= rows.low[:, None]) & (places < rows.high[:, None])
    np.clip(places, 0, work.shape[1] - 1, out=places)
    values = work[rows.series[:, None], places]
    n_left, n_right = rows.at - rows.low, rows.high - rows.at
    ends = np.where(inside, values, np.inf)
    left, right = np.sort(ends[:, :SIDE], axis=1), np.sort(ends[:, SIDE:], axis=1)
    relative = None if noise.relative is None else noise.relative[rows.series[:, None], places]
    if relative is None:
        level_left, level_right = medians(left, n_left), medians(right, n_right)
    else:
        level_left = _weighted_medians(ends[:, :SIDE], relative[:, :SIDE])
        level_right = _weighted_medians(ends[:, SIDE:], relative[:, SIDE:])
    residuals = np.empty_like(values)
    np.subtract(values[:, :SIDE], level_left[:, None], out=residuals[:, :SIDE])
    np.subtract(values[:, SIDE:], level_right[:, None], out=residuals[:, SIDE:])
    residuals *= inside
    if relative is not None:
        residuals /= relative
    deviation = _deviations(residuals, inside, n_left + n_right, noise.sigma[rows.series])
    return Sides(
        values,
        inside,
        n_left,
        n_right,
        left,
        right,
        level_left,
        level_right,
        relative,
        residuals,
        deviation,
    )


def _weighted_medians(ends: Floats, relative: Floats) -> Floats:
    order = np.argsort(ends, axis=1)
    values = np.take_along_axis(ends, order, axis=1)
    weights = np.where(np.isfinite(values), np.take_along_axis(relative, order, axis=1) ** -2.0, 0.0)
    sums = np.cumsum(weights, axis=1)
    at = (sums < 0.5 * sums[:, -1:]).sum(axis=1)
    medians: Floats = values[np.arange(len(values)), at]
    return medians


def medians(ordered: Floats, counts: Ints) -> Floats:
    """Medians of the first ``counts`` values of sorted rows."""
    rows = np.arange(len(ordered))
    middle: Floats = (ordered[rows, (counts - 1) // 2] + ordered[rows, counts // 2]) * 0.5
    return middle


def _deviations(residuals: Floats, inside: Mask, counts: Ints, sigma: Floats) -> Floats:
    """Robust local deviation, the larger of two estimates, shrunk towards the noise of the whole series."""
    sizes = np.sort(np.where(inside, np.abs(residuals), np.inf), axis=1)
    middle = MAD_TO_SIGMA * medians(sizes, counts)
    rows, at = np.arange(len(sizes)), 0.9 * (counts - 1)
    low = at.astype(np.int64)
    below, above = sizes[rows, low], sizes[rows, np.minimum(low + 1, counts - 1)]
    wide = Q90_TO_SIGMA * (below + (at - low) * (above - below))
    local = np.maximum(middle, wide)
    variance: Floats = (counts * local**2 + PSEUDO_POINTS * sigma**2) / (counts + PSEUDO_POINTS)
    return np.sqrt(variance)
