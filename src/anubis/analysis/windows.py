"""Stage 2 of change detection, for many candidates at once: how strong a change is, and where exactly.

Every function works on rows: one candidate each, with up to SIDE points before and after it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.spread import MAD_TO_SIGMA, Q90_TO_SIGMA

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: Points looked at on each side of a candidate.
SIDE = 80
#: Fewer points are no level.
FEWEST = 3
#: Residuals are clipped here, in local deviations, before they are averaged (Huber 1964, Ann. Math. Statist. 35:73-101).
CLIP = 3.0
#: The series' noise counts as so many points beside the local residuals.
PSEUDO_POINTS = 4
#: Lags of the long-run variance (Newey & West 1987, Econometrica 55:703-708, Bartlett weights), and its limits.
LAGS = 5
INFLATION = (1.0, 5.0)
#: Loss of one point while places are compared, in local variances.
PLACE_BOUND = 6.0
#: -2 log(1 - sqrt(.95)): see ``place_range``.
LOSS_RANGE = 7.35

_OFFSETS = np.arange(-SIDE, SIDE)
_PLACES = np.arange(2 * SIDE)


@dataclass(frozen=True, slots=True)
class Rows:
    """Candidates: row of the series, first index of its left side, of its right side, and the end of that."""

    series: Ints
    low: Ints
    at: Ints
    high: Ints

    @classmethod
    def of(cls, keys: list[tuple[int, int, int, int]]) -> "Rows":
        """From (series, first old point, first new point, end of the new level), sides cut to SIDE points."""
        columns = np.array(keys, dtype=np.int64).reshape(-1, 4).T
        at = columns[2]
        return cls(columns[0], np.maximum(columns[1], at - SIDE), at, np.minimum(columns[3], at + SIDE))


@dataclass(frozen=True, slots=True)
class Noise:
    """What is known of the noise, in working units."""

    #: Standard deviation of a typical point; shape (series,).
    sigma: Floats
    #: Variance of a mean over that of independent points, at least 1; shape (series,).
    inflation: Floats
    #: That of each point over sigma, where repeats are known; shape (series, points).
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
        level_left, level_right = _medians(left, n_left), _medians(right, n_right)
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

    Clipped means see small shifts of quiet noise, ranks see them in heavy tails. Both are divided by the root of
    the variance inflation that autocorrelated residuals bring. A side with fewer than FEWEST points scores 0.
    Where the points' own errors are known, means are weighted by inverse variance and ranks, which cannot be, rest.
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
    z[np.minimum(sides.n_left, sides.n_right) < FEWEST] = 0.0
    return Scores(z, difference, error, sides.deviation)


def place(work: Floats, rows: Rows, noise: Noise) -> Ints:
    """The index at which each candidate splits its own sides at the least bounded loss, levels held."""
    losses = _split_losses(gather(work, rows, noise))
    found = np.isfinite(losses).any(axis=1)
    return np.where(found, rows.at + losses.argmin(axis=1) - SIDE + 1, rows.at)


def place_range(work: Floats, rows: Rows, noise: Noise) -> tuple[Ints, Ints]:
    """Earliest and latest index that hold the true place with 95 % confidence.

    All places whose loss is within LOSS_RANGE of the least: twice the log likelihood ratio of a place follows
    P(D <= x) = (1 - exp(-x / 2))^2 (Siegmund 1988, Adv. Appl. Probab. 20:277-301).
    """
    losses = _split_losses(gather(work, rows, noise))
    least = losses.min(axis=1)
    limit = np.where(np.isfinite(least), least, 0.0) + LOSS_RANGE * noise.inflation[rows.series]
    near = losses <= limit[:, None]
    first, last = near.argmax(axis=1), 2 * SIDE - 1 - near[:, ::-1].argmax(axis=1)
    found = near.any(axis=1)
    return (
        np.where(found, np.minimum(rows.at + first - SIDE + 1, rows.at), rows.at),
        np.where(found, np.maximum(rows.at + last - SIDE + 1, rows.at), rows.at),
    )


def _split_losses(sides: Sides) -> Floats:
    """Loss of splitting after each column, up to a constant; infinity where a side would be too short."""
    scale = sides.deviation[:, None] * (1.0 if sides.relative is None else sides.relative)
    to_left = np.minimum(((sides.values - sides.level_left[:, None]) / scale) ** 2, PLACE_BOUND)
    to_right = np.minimum(((sides.values - sides.level_right[:, None]) / scale) ** 2, PLACE_BOUND)
    losses = np.cumsum((to_left - to_right) * sides.inside, axis=1)
    first = SIDE - sides.n_left + FEWEST - 1
    last = SIDE + sides.n_right - FEWEST
    allowed = (first[:, None] <= _PLACES) & (last[:, None] > _PLACES)
    return np.where(allowed, losses, np.inf)


def _weighted_medians(ends: Floats, relative: Floats) -> Floats:
    order = np.argsort(ends, axis=1)
    values = np.take_along_axis(ends, order, axis=1)
    weights = np.where(np.isfinite(values), np.take_along_axis(relative, order, axis=1) ** -2.0, 0.0)
    sums = np.cumsum(weights, axis=1)
    at = (sums < 0.5 * sums[:, -1:]).sum(axis=1)
    medians: Floats = values[np.arange(len(values)), at]
    return medians


def _medians(ordered: Floats, counts: Ints) -> Floats:
    rows = np.arange(len(ordered))
    middle: Floats = (ordered[rows, (counts - 1) // 2] + ordered[rows, counts // 2]) * 0.5
    return middle


def _deviations(residuals: Floats, inside: Mask, counts: Ints, sigma: Floats) -> Floats:
    """Robust local deviation, the wider of two, drawn towards the noise of the whole series."""
    sizes = np.sort(np.where(inside, np.abs(residuals), np.inf), axis=1)
    middle = MAD_TO_SIGMA * _medians(sizes, counts)
    rows, at = np.arange(len(sizes)), 0.9 * (counts - 1)
    low = at.astype(np.int64)
    below, above = sizes[rows, low], sizes[rows, np.minimum(low + 1, counts - 1)]
    wide = Q90_TO_SIGMA * (below + (at - low) * (above - below))
    local = np.maximum(middle, wide)
    variance: Floats = (counts * local**2 + PSEUDO_POINTS * sigma**2) / (counts + PSEUDO_POINTS)
    return np.sqrt(variance)


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
    """How many pairs have the value of ``first`` at or below that of ``second``; rows are sorted."""
    order = np.argsort(np.concatenate([first, second], axis=1), axis=1, kind="stable")
    seconds = (order >= SIDE) & (order < (SIDE + n_second)[:, None])
    ranks: Floats = seconds @ _PLACES - n_second * (n_second - 1) / 2
    return ranks


def _wins_strictly(sides: Sides) -> Floats:
    """How many pairs have the left value below the right one."""
    return sides.n_left * sides.n_right - _wins(sides.right, sides.left, sides.n_left)
