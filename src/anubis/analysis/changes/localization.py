"""The exact positions of changes, for many candidates at once."""

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.changes.windows import FEWEST, SIDE, Noise, Rows, Sides, gather, inflation_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Loss of one point, in local variances.
BOUND = 6.0
#: Weight of the loss beyond the bound, only to break ties.
TIE = 1e-3
#: -2 log(1 - sqrt(.95)): see ``localize_range``.
LOSS_RANGE = 7.35

_PLACES = np.arange(2 * SIDE)


def localize(work: Floats, rows: Rows, noise: Noise) -> Ints:
    """The index at which each candidate splits its sides with the least bounded loss, at fixed levels."""
    losses = _split_losses(gather(work, rows, noise))
    found = np.isfinite(losses).any(axis=1)
    return np.where(found, rows.at + losses.argmin(axis=1) - SIDE + 1, rows.at)


def localize_range(work: Floats, rows: Rows, noise: Noise) -> tuple[Ints, Ints]:
    """The 95 % confidence interval of each position: earliest and latest index.

    All positions whose loss is within LOSS_RANGE of the least: twice the log likelihood ratio of a position follows
    P(D <= x) = (1 - exp(-x / 2))^2 (Siegmund 1988, Adv. Appl. Probab. 20:277-301).
    """
    losses = _split_losses(gather(work, rows, noise))
    least = losses.min(axis=1)
    limit = np.where(np.isfinite(least), least, 0.0) + LOSS_RANGE * inflation_of(noise.rho[rows.series])
    near = losses <= limit[:, None]
    first, last = near.argmax(axis=1), 2 * SIDE - 1 - near[:, ::-1].argmax(axis=1)
    found = near.any(axis=1)
    return (
        np.where(found, np.minimum(rows.at + first - SIDE + 1, rows.at), rows.at),
        np.where(found, np.maximum(rows.at + last - SIDE + 1, rows.at), rows.at),
    )


def _split_losses(sides: Sides) -> Floats:
    """Loss of splitting after each column, up to a constant; infinity if a side would be too short."""
    scale = sides.deviation[:, None] * (1.0 if sides.relative is None else sides.relative)
    to_left = _bounded((sides.values - sides.level_left[:, None]) / scale)
    to_right = _bounded((sides.values - sides.level_right[:, None]) / scale)
    losses = np.cumsum((to_left - to_right) * sides.inside, axis=1)
    first = SIDE - sides.n_left + FEWEST - 1
    last = SIDE + sides.n_right - FEWEST
    allowed = (first[:, None] <= _PLACES) & (last[:, None] > _PLACES)
    return np.where(allowed, losses, np.inf)


def _bounded(distance: Floats) -> Floats:
    """Squared distances up to BOUND, almost flat beyond it, so that a distant point belongs to the nearer level."""
    squared = distance**2
    loss: Floats = np.minimum(squared, BOUND) + TIE * np.log1p(squared)
    return loss
