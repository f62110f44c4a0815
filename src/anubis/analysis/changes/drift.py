"""Detection of drifts: several small changes in one direction that a slope explains as well."""

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.changes.backward_elimination import Change

Floats = NDArray[np.float64]

#: Loss of one point, in local variances.
BOUND = 9.0
FEWEST_CHANGES = 2


def drifting(work: Floats, changes: Sequence[Change]) -> list[bool]:
    """For each change of one series, whether it is part of a drift; ``work`` has shape (points,).

    Consecutive changes in one direction are a drift if a straight line explains the points no worse than the
    steps, with a penalty of log n for every free parameter (Schwarz' criterion; for change points Yao
    1988, Statist. Probab. Lett. 6:181-189): a level and a position for every step, a slope for the line.
    """
    labels: list[bool] = []
    for _, group in groupby(changes, key=lambda change: change.difference > 0):
        run = list(group)
        labels += [len(run) >= FEWEST_CHANGES and _is_slope(work, run)] * len(run)
    return labels


def _is_slope(work: Floats, run: list[Change]) -> bool:
    places = [change.at for change in run]
    reach = int(np.median(np.diff(places)))
    low, high = max(run[0].low, places[0] - reach), min(run[-1].high, places[-1] + reach)
    points = work[low:high]
    deviation = float(np.median([change.deviation for change in run]))
    edges = [0, *(at - low for at in places), high - low]
    parts = [points[a:b] for a, b in pairwise(edges)]
    steps = sum(_loss(part - np.median(part), deviation) for part in parts)
    extra = math.log(len(points)) * (2 * len(run) - 1)
    return _line_loss(points, deviation) <= steps + extra


def _loss(residuals: Floats, deviation: float) -> float:
    return float(np.minimum((residuals / deviation) ** 2, BOUND).sum())


def _line_loss(points: Floats, deviation: float) -> float:
    """Loss around a line fitted by reweighted least squares (Holland & Welsch 1977, Comm. Statist. A6:813-827)."""
    places = np.arange(len(points), dtype=np.float64)
    weights = np.ones(len(points))
    residuals = points
    for _ in range(5):
        slope, level = np.polyfit(places, points, 1, w=np.sqrt(weights))
        residuals = points - (slope * places + level)
        weights = 1 / np.maximum(np.abs(residuals) / (1.5 * deviation), 1.0)
    return _loss(residuals, deviation)
