"""The significance of changes, for many candidates at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.changes.windows import FEWEST, SIDE, Noise, Rows, Sides, gather

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: A side with at most this many points must be significant even without its most extreme point.
FRAIL = 4
#: Residuals are clipped here, in local deviations, before they are averaged (Huber 1964, Ann. Math. Statist. 35:73-101).
CLIP = 3.0
#: Lags of the long-run variance (Newey & West 1987, Econometrica 55:703-708, Bartlett weights), and its limits.
LAGS = 5
INFLATION = (1.0, 5.0)

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


def score(work: Floats, rows: Rows, noise: Noise) -> Scores:
    """The larger of the robust difference of means and the Mann-Whitney statistic, both in standard errors.

    Clipped means detect small shifts in low noise, ranks detect them in heavy tails. Both are divided by the root of the
    variance inflation of autocorrelated residuals. A candidate scores 0 if fewer than FEWEST points of a side are nearer
    to the level of that side, and a side with few points is judged without its most extreme one, because spikes are not
    levels. If the errors of the points are known, means are weighted by inverse variance and ranks are not used.
    """
    sides = gather(work, rows, noise)
    limit = (CLIP * sides.deviation)[:, None]
    clipped = np.minimum(np.maximum(sides.residuals, -limit), limit)
    inflation = np.sqrt(np.maximum(_inflation(clipped), noise.inflation[rows.series]))
    if sides.relative is None:
        moved, weight_left, weight_right = clipped, sides.n_left, sides.n_right
    else:
        weights = sides.inside / sides.relative**2
        moved = clipped * sides.relative * weights
        weight_left, weight_right = weights[:, :SIDE].sum(axis=1), weights[:, SIDE:].sum(axis=1)
    difference = (sides.level_right + moved[:, SIDE:].sum(axis=1) / weight_right) - (
        sides.level_left + moved[:, :SIDE].sum(axis=1) / weight_left
    )
    error = sides.deviation * np.sqrt(1 / weight_left + 1 / weight_right) * inflation
    z = np.abs(difference) / error
    if sides.relative is None:
        z = np.maximum(z, np.abs(_mann_whitney(sides)) / inflation)
        z = np.minimum(z, _without_extremes(sides, clipped, difference > 0, limit[:, 0]) / inflation)
    z[_support(sides, difference) < FEWEST] = 0.0
    return Scores(z, difference, error, sides.deviation)


def _support(sides: Sides, difference: Floats) -> Ints:
    """The number of points of the weaker side that are nearer to the level of their side; neighbouring spikes have two."""
    middle = (sides.level_left + sides.level_right)[:, None] / 2
    above = (sides.values > middle) == (difference > 0)[:, None]
    left = (sides.inside & ~above)[:, :SIDE].sum(axis=1)
    right = (sides.inside & above)[:, SIDE:].sum(axis=1)
    weaker: Ints = np.minimum(left, right)
    return weaker


def _without_extremes(sides: Sides, clipped: Floats, rises: Mask, limit: Floats) -> Floats:
    """The difference of means in standard errors, without the most extreme point of a side with few points.

    Infinity if both sides have more than FRAIL points.
    """
    n_left = np.maximum(sides.n_left - (sides.n_left <= FRAIL), 1)
    n_right = np.maximum(sides.n_right - (sides.n_right <= FRAIL), 1)
    lost_left = (n_left < sides.n_left) * _extreme(sides.left, sides.n_left, sides.level_left, ~rises, limit)
    lost_right = (n_right < sides.n_right) * _extreme(
        sides.right, sides.n_right, sides.level_right, rises, limit
    )
    left = sides.level_left + (clipped[:, :SIDE].sum(axis=1) - lost_left) / n_left
    right = sides.level_right + (clipped[:, SIDE:].sum(axis=1) - lost_right) / n_right
    z = np.abs(right - left) / (sides.deviation * np.sqrt(1 / n_left + 1 / n_right))
    return np.where((n_left < sides.n_left) | (n_right < sides.n_right), z, np.inf)


def _extreme(ordered: Floats, counts: Ints, level: Floats, highest: Mask, limit: Floats) -> Floats:
    """Clipped residual of the highest (else the lowest) point of a side."""
    residual = ordered[np.arange(len(ordered)), np.where(highest, counts - 1, 0)] - level
    clipped: Floats = np.minimum(np.maximum(residual, -limit), limit)
    return clipped


def _inflation(clipped: Floats) -> Floats:
    power = np.maximum(np.einsum("ij,ij->i", clipped, clipped), 1e-300)
    total = np.zeros(len(clipped))
    for lag in range(1, LAGS + 1):
        products = np.einsum("ij,ij->i", clipped[:, lag:], clipped[:, :-lag])
        total += (1 - lag / (LAGS + 1)) * products
    inflation: Floats = np.clip(1 + 2 * total / power, *INFLATION)
    return inflation


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
