"""The prediction interval of the current level of a series, and the newest points outside of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from anubis.analysis.changes.windows import PSEUDO_POINTS
from anubis.analysis.samples.spread import median, noise_floor

#: Minimum number of points of a level for a prediction.
FEWEST_TO_PREDICT = 6
#: Half-width of the 99 % prediction interval, in standard deviations.
PREDICTION = 2.5758


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction of a level, in working units."""

    level: float
    #: Standard deviation of one point around the level.
    deviation: float
    #: Half-width of the interval that holds 99 % of further points.
    margin: float
    #: Number of points of the level, without the newest points outside.
    n: int
    #: Number of newest points that all lie outside, on one side.
    outside: int


def predict(points: Sequence[float], sigma: float) -> Prediction | None:
    """Judge the newest of ``points``, all from the current level; None with too few points.

    The level is their median; the deviation is shrunk towards ``sigma``, the noise of the whole series. Both are robust to
    a few points of a new level. The margin is z.995 * deviation * sqrt(1 + 1 / n) (Hahn & Meeker 1991, Statistical
    Intervals, 4.8).
    """
    count = len(points)
    if count < FEWEST_TO_PREDICT:
        return None
    level = median(sorted(points))
    local = noise_floor(points) or 0.0
    deviation = math.sqrt((count * local**2 + PSEUDO_POINTS * sigma**2) / (count + PSEUDO_POINTS))
    margin = PREDICTION * deviation * math.sqrt(1 + 1 / count)
    above = points[-1] > level
    outside = 0
    for point in reversed(points):
        if abs(point - level) <= margin or (point > level) != above:
            break
        outside += 1
    return Prediction(level, deviation, margin, count - outside, outside)
