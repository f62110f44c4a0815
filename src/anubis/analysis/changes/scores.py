"""The significance of changes, for many candidates at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.changes.windows import (
    FEWEST,
    PSEUDO_POINTS,
    SIDE,
    Noise,
    Rows,
    Sides,
    gather,
    inflation_of,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: A side with at most this many points must be significant even without its most extreme point.
FRAIL = 3
#: Residuals are clipped here, in deviations of their side, before they are averaged (Huber 1964, Ann. Math. Statist. 35:73-101).
CLIP = 3.0
#: Weight of the common deviation in the limit of one side, and of the common variance in that of one side, in points.
PSEUDO_LIMIT, PSEUDO_SIDE = 4, 6
#: Weight of the autocorrelation of the series relative to that of the sides, in points.
PSEUDO_RHO = 15
#: Mean absolute residual of normal noise times this is its standard deviation.
MEAN_TO_SIGMA = 1.2533

#: Factor of the score by the number of points of the shorter side. There are more places for a short level than for a long
#: one (Dümbgen & Spokoiny 2001, Ann. Statist. 29:124-152), and the mean of three points of heavy-tailed noise is not normal.
_SHORT = np.array([1.0, 1.0, 1.0, 0.92, 0.95, 1.0])

_PLACES = np.arange(2 * SIDE)


@dataclass(frozen=True, slots=True)
class Scores:
    """One value per candidate."""

    #: Size of the change in standard errors.
    z: Floats
    #: Difference of the levels, in working units.
    difference: Floats
    #: Its standard error, autocorrelation included.
    error: Floats
    #: Local standard deviation of a typical point.
    deviation: Floats


@dataclass(frozen=True, slots=True)
class _Variances:
    """Variances of a point around its level: common to both sides, and of each side."""

    common: Floats
    left: Floats
    right: Floats


def score(work: Floats, rows: Rows, noise: Noise) -> Scores:
    """The larger of the robust difference of means and the Mann-Whitney statistic, both in standard errors.

    Clipped means detect small shifts in low noise, ranks detect them in heavy tails. Both take into account the local noise
    of each side, and are divided by the root of the variance inflation of autocorrelated residuals. A candidate scores 0 if
    fewer than FEWEST points of a side are nearer to the level of that side, a side with few points is judged without its
    most extreme one, because spikes are not levels, and sides with three or four points score less (``_SHORT``). If the
    errors of the points are known, means are weighted by inverse variance and ranks are not used.
    """
    sides = gather(work, rows, noise)
    limits = CLIP * _side_deviations(sides)
    columns = np.repeat(limits, SIDE, axis=1)
    clipped = np.minimum(np.maximum(sides.residuals, -columns), columns)
    inflation = np.sqrt(inflation_of(_autocorrelation(clipped, sides, noise.rho[rows.series])))
    if sides.relative is None:
        moved, weight_left, weight_right = clipped, sides.n_left, sides.n_right
    else:
        weights = sides.inside / sides.relative**2
        moved = clipped * sides.relative * weights
        weight_left, weight_right = weights[:, :SIDE].sum(axis=1), weights[:, SIDE:].sum(axis=1)
    difference = (sides.level_right + moved[:, SIDE:].sum(axis=1) / weight_right) - (
        sides.level_left + moved[:, :SIDE].sum(axis=1) / weight_left
    )
    variances = _variances(clipped, sides, noise.sigma[rows.series])
    error = np.sqrt(variances.left / weight_left + variances.right / weight_right) * inflation
    z = np.abs(difference) / error
    if sides.relative is None:
        equal = np.sqrt(variances.common * (1 / weight_left + 1 / weight_right))
        z = np.maximum(z, np.abs(_mann_whitney(sides)) * equal / error)
        z = np.minimum(z, _without_extremes(sides, clipped, difference > 0, limits, variances) / inflation)
    z *= _SHORT[np.minimum(np.minimum(sides.n_left, sides.n_right), len(_SHORT) - 1)]
    z[_support(sides, difference) < FEWEST] = 0.0
    return Scores(z, difference, error, sides.deviation)


def _side_deviations(sides: Sides) -> Floats:
    """The deviation of each side, shape (rows, 2): at least the common one, towards which it is shrunk."""
    sizes = np.abs(sides.residuals)
    sums = np.stack([sizes[:, :SIDE].sum(axis=1), sizes[:, SIDE:].sum(axis=1)], axis=1)
    counts = np.stack([sides.n_left, sides.n_right], axis=1)
    common = sides.deviation[:, None]
    own = MEAN_TO_SIGMA * sums / counts
    shrunk = np.sqrt((counts * own**2 + PSEUDO_LIMIT * common**2) / (counts + PSEUDO_LIMIT))
    wider: Floats = np.maximum(shrunk, common)
    return wider


def _variances(clipped: Floats, sides: Sides, sigma: Floats) -> _Variances:
    """Variances of clipped residuals; that of the noisier side is larger than the common one (Welch 1947, Biometrika 34:28-35).

    The common one is shrunk towards the noise of the series, those of the sides towards the common one. Degrees of
    freedom are subtracted for the fitted levels.
    """
    squares = clipped * clipped
    left, right = squares[:, :SIDE].sum(axis=1), squares[:, SIDE:].sum(axis=1)
    counts = sides.n_left + sides.n_right
    common = (left + right + PSEUDO_POINTS * sigma**2) / (counts + PSEUDO_POINTS - 2)
    own_left = (left + PSEUDO_SIDE * common) / (sides.n_left + PSEUDO_SIDE - 1)
    own_right = (right + PSEUDO_SIDE * common) / (sides.n_right + PSEUDO_SIDE - 1)
    return _Variances(common, np.maximum(own_left, common), np.maximum(own_right, common))


def _support(sides: Sides, difference: Floats) -> Ints:
    """The number of points of the weaker side that are nearer to the level of their side; neighbouring spikes have two."""
    middle = (sides.level_left + sides.level_right)[:, None] / 2
    above = (sides.values > middle) == (difference > 0)[:, None]
    left = (sides.inside & ~above)[:, :SIDE].sum(axis=1)
    right = (sides.inside & above)[:, SIDE:].sum(axis=1)
    weaker: Ints = np.minimum(left, right)
    return weaker


def _without_extremes(
    sides: Sides, clipped: Floats, rises: Mask, limits: Floats, variances: _Variances
) -> Floats:
    """The difference of means in standard errors, without the most extreme point of a side with few points.

    Infinity if both sides have more than FRAIL points.
    """
    n_left = np.maximum(sides.n_left - (sides.n_left <= FRAIL), 1)
    n_right = np.maximum(sides.n_right - (sides.n_right <= FRAIL), 1)
    least = _extreme(sides.left, sides.n_left, sides.level_left, ~rises, limits[:, 0])
    most = _extreme(sides.right, sides.n_right, sides.level_right, rises, limits[:, 1])
    left = sides.level_left + (clipped[:, :SIDE].sum(axis=1) - (n_left < sides.n_left) * least) / n_left
    right = sides.level_right + (clipped[:, SIDE:].sum(axis=1) - (n_right < sides.n_right) * most) / n_right
    z = np.abs(right - left) / np.sqrt(variances.left / n_left + variances.right / n_right)
    return np.where((n_left < sides.n_left) | (n_right < sides.n_right), z, np.inf)


def _extreme(ordered: Floats, counts: Ints, level: Floats, highest: Mask, limit: Floats) -> Floats:
    """Clipped residual of the highest (else the lowest) point of a side."""
    residual = ordered[np.arange(len(ordered)), np.where(highest, counts - 1, 0)] - level
    clipped: Floats = np.minimum(np.maximum(residual, -limit), limit)
    return clipped


def _autocorrelation(clipped: Floats, sides: Sides, rho: Floats) -> Floats:
    """Lag-1 autocorrelation around both levels, shrunk towards ``rho``, that of the series.

    Corrected for the fitted levels, which lower it by (1 + 3 rho) / n (Kendall 1954, Biometrika 41:403-404).
    """
    counts = sides.n_left + sides.n_right
    power = np.maximum(np.einsum("ij,ij->i", clipped, clipped), 1e-300)
    local = np.einsum("ij,ij->i", clipped[:, 1:], clipped[:, :-1]) / power
    local += (1 + 3 * np.maximum(local, 0.0)) / counts
    shrunk: Floats = (counts * local + PSEUDO_RHO * rho) / (counts + PSEUDO_RHO)
    return shrunk


def _mann_whitney(sides: Sides) -> Floats:
    """Normal score of the rank sum, ties halved (Mann & Whitney 1947, Ann. Math. Statist. 18:50-60)."""
    n_left, n_right = sides.n_left, sides.n_right
    wins = (_wins(sides.left, sides.right, n_right) + _wins_strictly(sides)) / 2
    spread = np.sqrt(n_left * n_right * (n_left + n_right + 1) / 12)
    return (wins - n_left * n_right / 2) / spread


def _wins(first: Floats, second: Floats, n_second: Ints) -> Floats:
    """The number of pairs whose value of ``first`` is at or below that of ``second``; rows are sorted."""
    order = np.argsort(np.concatenate([first, second], axis=1), axis=1, kind="stable")
    seconds = (order >= SIDE) & (order < (SIDE + n_second)[:, None])
    ranks: Floats = seconds @ _PLACES - n_second * (n_second - 1) / 2
    return ranks


def _wins_strictly(sides: Sides) -> Floats:
    """The number of pairs whose left value is below the right one."""
    return sides.n_left * sides.n_right - _wins(sides.right, sides.left, sides.n_left)
