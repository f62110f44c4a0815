"""P values from the tails that were seen: how often the values of a level lie as far from the others as a contender does.

Student's p assumes normal noise. Each value of a history, tested against the other values of its level, shows what this
test returns where nothing has changed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr

from anubis.analysis.samples.moderation import Prior
from anubis.analysis.samples.spread import median_variance, noise_floors

Floats = NDArray[np.float64]

#: Number of residuals from which on their own tail is used.
FEWEST_RESIDUALS = 500
#: Maximum number of residuals that are computed.
MOST_RESIDUALS = 8000
#: Weight of "Student's p is right" in the estimate of the inflation from few residuals, in residuals.
_PSEUDO_RESIDUALS = 40
#: Share of the residuals that the generalised Pareto distribution describes, and the minimum number of them.
_TAIL, _FEWEST_IN_TAIL = 0.02, 50
#: Minimum number of values of a level for a test of each against the others.
_FEWEST_VALUES = 4
#: The smallest p that is told apart from 0.
_LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a p value of Student's test is worth. Without residuals it is what it is."""

    #: Normal scores of the two-sided p values seen without a change, ascending; empty: ``inflation`` is used.
    scores: Floats
    #: Factor by which scores are too large, if there are few residuals.
    inflation: float
    #: Threshold, share of the residuals above it, shape and scale of their generalised Pareto distribution.
    tail: tuple[float, float, float, float]

    @classmethod
    def of(cls, probabilities: Floats) -> "Calibration":
        """Create from p values that were seen without a change."""
        scores = np.sort(_scores(probabilities))
        count = len(scores)
        if count < FEWEST_RESIDUALS:
            seen = float(np.quantile(scores, 0.95)) / _score(0.05) if count else 1.0
            weight = count / (count + _PSEUDO_RESIDUALS)
            inflation = math.sqrt(1 + weight * (max(1.0, seen) ** 2 - 1))
            return cls(np.empty(0), inflation, (math.inf, 0.0, 0.0, 1.0))
        share = max(_TAIL, _FEWEST_IN_TAIL / count)
        threshold = float(np.quantile(scores, 1 - share))
        return cls(scores, 1.0, (threshold, share, *_pareto(scores[scores > threshold] - threshold)))

    def p(self, probability: float) -> float:
        """The share of values without a change whose p is at most this one."""
        score = _score(probability)
        if not len(self.scores):
            return min(1.0, 2 * float(ndtr(-score / self.inflation)))
        threshold, share, shape, scale = self.tail
        if score > threshold:
            beyond = (score - threshold) / scale
            if shape < 1e-6:
                return share * math.exp(-beyond)
            return share * math.pow(1 + shape * beyond, -1 / shape)
        count = len(self.scores)
        return float(count - np.searchsorted(self.scores, score) + 1) / (count + 1)

    def level(self, alpha: float) -> float:
        """The p value that is worth ``alpha``, which is at least the share of the tail."""
        score = (
            float(np.quantile(self.scores, 1 - alpha)) if len(self.scores) else _score(alpha) * self.inflation
        )
        return 2 * float(ndtr(-score))


def unchanged_probabilities(levels: Sequence[Sequence[float]], prior: Prior) -> Floats:
    """P of each value against the others of its level, by the test that a contender with one value gets.

    ``levels`` are the working values of each metric. With many metrics some of the values of each are taken.
    """
    by_count: dict[int, list[Sequence[float]]] = {}
    for level in levels:
        if len(level) >= _FEWEST_VALUES:
            by_count.setdefault(len(level), []).append(level)
    total = sum(count * len(group) for count, group in by_count.items())
    every = max(1, math.ceil(total / MOST_RESIDUALS))
    found = [_of_group(np.array(group), every, prior) for group in by_count.values()]
    return np.concatenate(found) if found else np.empty(0)


def _of_group(levels: Floats, every: int, prior: Prior) -> Floats:
    """The p values of every n-th value of levels of equal length, shape (levels, values)."""
    levels = levels[np.ptp(levels, axis=1) > 0]
    rows, places = np.divmod(np.arange(0, levels.size, every), levels.shape[1])
    # A stride that divides the length would take the same places of every level.
    places = (places + rows) % levels.shape[1]
    rest = levels.shape[1] - 1
    others = (places[:, None] + 1 + np.arange(rest)) % levels.shape[1]
    others = levels[rows[:, None], others]
    freedom = rest - 1
    variances, freedoms = prior.shrink(noise_floors(others) ** 2, freedom)
    errors = np.sqrt(variances * (1 + median_variance(rest)))
    differences = np.abs(levels[rows, places] - np.median(others, axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(differences > 0, differences / errors, 0.0)
    probabilities: Floats = 2 * stdtr(freedoms, -ratios)
    return probabilities


def _score(probability: float) -> float:
    return -float(ndtri(max(probability, _LEAST) / 2))


def _scores(probabilities: Floats) -> Floats:
    scores: Floats = -ndtri(np.maximum(probabilities, _LEAST) / 2)
    return scores


def _pareto(exceedances: Floats) -> tuple[float, float]:
    """Shape and scale of the generalised Pareto distribution by probability-weighted moments.

    Hosking & Wallis 1987, Technometrics 29:339-349. The shape is at least 0: a tail never ends at what was seen.
    """
    ordered = np.sort(exceedances)
    count = len(ordered)
    first = float(ordered.mean()) if count else 0.0
    if first <= 0:
        return 0.0, 1.0
    second = float((ordered * (count - np.arange(1, count + 1) + 0.35)).sum()) / count**2
    shape = 2 - first / (first - 2 * second)
    if not 0 <= shape < 1:
        return 0.0, first
    return shape, 2 * first * second / (first - 2 * second)
