"""P values from the tails that were seen: how often the values of a level lie as far from the others as a contender does.

Student's p assumes normal noise. Each value of a history, tested against the other values of its level, shows what this
test returns where nothing has changed.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from anubis.analysis.samples.moderation import Prior
from anubis.analysis.samples.spread import median_variance, noise_floors

Floats = NDArray[np.float64]

#: Number of residuals from which on their own tail is used.
FEWEST_RESIDUALS = 500
#: Maximum number of residuals that are computed.
MOST_RESIDUALS = 20_000
#: Weight of "Student's p is right" in the estimate of the inflation from few residuals, in residuals.
_PSEUDO_RESIDUALS = 40
#: Shares of the residuals that the generalised Pareto distribution may describe, and the minimum number of them.
_TAILS, _FEWEST_IN_TAIL = (0.005, 0.01, 0.02), 50
#: Limits of its shape: no tail ends at the values that were seen, and every tail has a mean.
_SHAPES = (0.0, 0.9)
#: Minimum number of values of a level for a test of each against the others.
_FEWEST_VALUES = 4
#: 1 - confidence of intervals.
ALPHA = 0.05
#: The smallest p that differs from 0.
_LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a p value of Student's test is worth. Without residuals it is what it is."""

    #: Degrees of freedom of Student's distribution whose quantiles are the scores of p values. Scores keep the distances
    #: of the values if the tests have nearly these degrees of freedom.
    freedom: float
    #: Scores of the two-sided p values seen without a change, ascending; empty: ``inflation`` is used.
    scores: Floats
    #: Factor by which scores are too large, if there are few residuals.
    inflation: float
    #: Threshold, share of the residuals above it, shape and scale of their generalised Pareto distribution.
    tail: tuple[float, float, float, float]
    #: The p value that is worth ``ALPHA``.
    level: float

    @classmethod
    def of(cls, seen: "Unchanged") -> "Calibration":
        """Create from tests that were made without a change."""
        count = len(seen.probabilities)
        freedom = float(np.median(seen.freedoms)) if count else 1.0
        scores: Floats = np.sort(-stdtrit(freedom, np.maximum(seen.probabilities, _LEAST) / 2))
        if count < FEWEST_RESIDUALS:
            ratio = float(np.quantile(scores, 0.9, method="lower")) / _score(0.1, freedom) if count else 1.0
            weight = count / (count + _PSEUDO_RESIDUALS)
            inflation = math.sqrt(1 + weight * (max(1.0, ratio) ** 2 - 1))
            level = 2 * float(stdtr(freedom, -_score(ALPHA, freedom) * inflation))
            return cls(freedom, np.empty(0), inflation, (math.inf, 0.0, 0.0, 1.0), level)
        level = 2 * float(stdtr(freedom, -float(np.quantile(scores, 1 - ALPHA))))
        return cls(freedom, scores, 1.0, _tail(scores), level)

    def p(self, probabilities: Floats) -> Floats:
        """For each p value the share of values without a change whose p is at most as large."""
        scores = -stdtrit(self.freedom, np.maximum(probabilities, _LEAST) / 2)
        if not len(self.scores):
            widened: Floats = np.minimum(1.0, 2 * stdtr(self.freedom, -scores / self.inflation))
            return widened
        threshold, share, shape, scale = self.tail
        beyond = np.maximum(scores - threshold, 0.0) / scale
        tail = share * (np.exp(-beyond) if shape < 1e-6 else (1 + shape * beyond) ** (-1 / shape))
        count = len(self.scores)
        ranks = (count - np.searchsorted(self.scores, scores) + 1) / (count + 1)
        return np.where(scores > threshold, tail, ranks)


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Student's p values of tests without a change, and their degrees of freedom."""

    probabilities: Floats
    freedoms: Floats


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Values of levels, each against the others of its level as a contender with one value is; shape (values,) each."""

    differences: Floats
    #: Variance of one value, estimated from the others, and its degrees of freedom.
    variances: Floats
    freedoms: Floats
    #: The variance of the difference over that of one value.
    factors: Floats

    def tested(self, prior: Prior) -> Unchanged:
        """The tests with variances shrunk by ``prior``."""
        variances, freedoms = prior.shrink(self.variances, self.freedoms)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = self.differences / np.sqrt(variances * self.factors)
        return Unchanged(2 * stdtr(freedoms, -np.where(self.differences > 0, ratios, 0.0)), freedoms)


def leave_one_out(levels: Iterable[Sequence[float]]) -> LeftOut:
    """Each value of the levels against the others of its level; with many values some of each level are taken.

    ``levels`` are the working values of each metric.
    """
    by_count: dict[int, list[Sequence[float]]] = {}
    for level in levels:
        if len(level) >= _FEWEST_VALUES:
            by_count.setdefault(len(level), []).append(level)
    total = sum(count * len(group) for count, group in by_count.items())
    every = max(1, math.ceil(total / MOST_RESIDUALS))
    found = [_of_group(np.array(group), every) for group in by_count.values()]
    columns = zip(*found, strict=True) if found else [[np.empty(0)]] * 4
    return LeftOut(*map(np.concatenate, columns))


def _of_group(levels: Floats, every: int) -> tuple[Floats, Floats, Floats, Floats]:
    """The columns of ``LeftOut`` for every n-th value of levels of equal length, shape (levels, values)."""
    levels = np.sort(levels[np.ptp(levels, axis=1) > 0], axis=1)
    rows, places = np.divmod(np.arange(0, levels.size, every), levels.shape[1])
    # A stride that divides the length would take the same places of every level.
    places = (places + rows) % levels.shape[1]
    rest = levels.shape[1] - 1
    kept = np.arange(rest)
    others = levels[rows[:, None], kept + (kept >= places[:, None])]
    centres = (others[:, (rest - 1) // 2] + others[:, rest // 2]) / 2
    return (
        np.abs(levels[rows, places] - centres),
        noise_floors(others) ** 2,
        np.full(len(rows), rest - 1.0),
        np.full(len(rows), 1 + median_variance(rest)),
    )


def _score(probability: float, freedom: float) -> float:
    return -float(stdtrit(freedom, max(probability, _LEAST) / 2))


def _tail(scores: Floats) -> tuple[float, float, float, float]:
    """Threshold, share, shape and scale of the tail.

    The smallest share if its tail and that of the next are light, that is at most exponential, else the largest share: if
    one in a hundred values is a spike, only the tail of the spikes is light.
    """
    fits = []
    for share in _TAILS:
        at = max(share, _FEWEST_IN_TAIL / len(scores))
        threshold = float(np.quantile(scores, 1 - at))
        fits.append((threshold, at, *_pareto(scores[scores > threshold] - threshold)))
    smallest, middle, largest = fits
    return smallest if smallest[2] == middle[2] == 0 else largest


def _pareto(exceedances: Floats) -> tuple[float, float]:
    """Shape and scale of the generalised Pareto distribution by probability-weighted moments.

    Hosking & Wallis 1987, Technometrics 29:339-349, for shapes above -1 / 2.
    """
    ordered = np.sort(exceedances)
    count = len(ordered)
    first = float(ordered.mean()) if count else 0.0
    if first <= 0:
        return 0.0, 1.0
    second = float((ordered * (count - np.arange(1, count + 1) + 0.35)).sum()) / count**2
    shape = 2 - first / (first - 2 * second)
    if not _SHAPES[0] < shape < _SHAPES[1]:
        shape = min(max(shape, _SHAPES[0]), _SHAPES[1])
        return shape, first * (1 - shape)
    return shape, 2 * first * second / (first - 2 * second)
