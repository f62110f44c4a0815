"""Levels of a test that is repeated while pairs arrive, so that its error rate holds over all looks together.

A group-sequential test with a spending function (Lan & DeMets 1983, Biometrika 70:659-663): up to n of at most N pairs it may
have spent ``alpha`` * n / N (Kim & DeMets 1987, Biometrika 74:149-154, rho = 1). The probability of a crossing is computed
for sums of independent normal increments (Armitage, McPherson & Rowe 1969, J. R. Stat. Soc. A 132:235-244), and
each look uses the exact signed-rank test at the level found in this way.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from anubis.analysis.samples.pairs import rank_level

Floats = NDArray[np.float64]

#: Pairs at the first look, and between two looks at least; from ``DENSE`` pairs on a look every 10 %.
FIRST, STEP, DENSE = 6, 2, 20
#: Cells of the grid in the standard deviation of one step, and its range in standard deviations of the last sum.
_CELLS, _RANGE = 16, 7.0


def looks(most: int) -> list[int]:
    """The numbers of pairs after which a test with at most ``most`` pairs (an even number) is judged."""
    counts, count = [], FIRST
    while count < most:
        counts.append(count)
        count += max(STEP, STEP * round(count / DENSE))
    return [*counts, most]


@lru_cache(maxsize=64)
def levels(most: int, alpha: float) -> dict[int, float]:
    """Number of pairs at each look -> two-sided level of the signed-rank test there; 0: it cannot decide yet.

    A level that the ranks of few pairs cannot attain is not spent; later looks may use it.
    """
    counts = looks(most)
    step = math.sqrt(STEP) / _CELLS
    half = math.ceil(_RANGE * math.sqrt(most) / step)
    grid: Floats = step * np.arange(-half, half + 1, dtype=np.float64)
    density = np.exp(-(grid**2) / (2 * counts[0])) / math.sqrt(2 * math.pi * counts[0])
    found, spent, before = {}, 0.0, counts[0]
    for count in counts:
        if count > before:
            density = _later(density, step, count - before)
        allowed = max(0.0, alpha * count / most - spent)
        nominal = 2 * float(ndtr(-_bound(density, step, allowed) / math.sqrt(count)))
        level = rank_level(count, nominal)
        if level > 0:
            density, crossed = _stopped(density, grid, step, -float(ndtri(level / 2)) * math.sqrt(count))
            spent += crossed
        found[count], before = level, count
    return found


def _later(density: Floats, step: float, pairs: int) -> Floats:
    """The density of the sum after further pairs; what has stopped is not part of it."""
    reach = math.ceil(_RANGE * math.sqrt(pairs) / step)
    kernel = np.exp(-((step * np.arange(-reach, reach + 1)) ** 2) / (2 * pairs))
    later: Floats = np.convolve(density, kernel / kernel.sum(), mode="same")
    return later


def _bound(density: Floats, step: float, allowed: float) -> float:
    """The value that the absolute sum exceeds with probability ``allowed``."""
    half = len(density) // 2
    upper = density[half:] * step
    beyond = np.cumsum(upper[::-1])[::-1] - upper / 2  # from the middle of each cell
    at = np.interp(allowed / 2, beyond[::-1], np.arange(half, -1, -1))
    return float(at) * step


def _stopped(density: Floats, grid: Floats, step: float, bound: float) -> tuple[Floats, float]:
    """The density within the bounds, and the probability beyond them; a cell at a bound is divided."""
    inside = np.clip((bound - np.abs(grid)) / step + 0.5, 0.0, 1.0)
    return density * inside, float((density * (1 - inside)).sum() * step)
