"""What the current level of a series predicts, and whether its newest points keep to it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from anubis.analysis.changes.windows import PSEUDO_POINTS
from anubis.analysis.samples.spread import median, noise_floor

#: A level of fewer points predicts nothing.
FEWEST_TO_PREDICT = 6
#: Half-width of the 99 % prediction interval, in standard deviations.
PREDICTION = 2.5758


@dataclass(frozen=True, slots=True)
class Prediction:
    """In working units."""

    level: float
    #: Of one point around the level.
    deviation: float
    #: Half-width of the interval that holds 99 % of further points.
    margin: float
    #: Points of the level, without the newest that lie outside.
    n: int
    #: The newest points that all lie outside, on one side.
    outside: int


def predict(points: Sequence[float], sigma: float) -> Prediction | None:
    """Judge the newest of ``points``, all of the current level as far as is known; None with too few of them.

    The level is their median, the deviation is drawn towards ``sigma``, the noise of the whole series; both stand a
    few points that have left already. The margin is z.995 * deviation * sqrt(1 + 1 / n) (Hahn & Meeker 1991,
    Statistical Intervals, 4.8).
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
