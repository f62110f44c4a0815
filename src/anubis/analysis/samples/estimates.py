"""Estimates of the difference between two samples, with its interval and p value."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, stdtrit

from anubis.analysis.samples.pairs import compare_pairs
from anubis.analysis.samples.ranks import Shift, shift
from anubis.analysis.samples.scale import Scale
from anubis.analysis.samples.sessions import FEWEST_SESSIONS, AgainstHistory, against_history, centre, student
from anubis.analysis.samples.slots import without_slot
from anubis.analysis.samples.spread import (
    ROBUST_FROM,
    mean,
    median_variance,
    noise_floor,
    resolution,
    sample_deviation,
    smallest_detectable,
)
from anubis.model.verdict import Estimator

#: Minimum number of runs on each side, and of pairs, for a test; with fewer there is only a ratio.
FEWEST_RUNS = 3
#: Share of the pairwise differences that are 0 from which on a metric is judged by means: ranks with many ties and the
#: differences between few distinct values have little power.
MANY_TIES = 0.2


@dataclass(frozen=True, slots=True)
class Spread:
    """The noise of a difference as Student's test uses it: error^2 = ``variance`` * ``factor``."""

    #: Variance of one value (or of one difference within a pair), in working units.
    variance: float
    #: Degrees of freedom of ``variance``.
    freedom: float
    factor: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """The difference, the noise of one run and the smallest detectable difference, in working units; None: unknown."""

    difference: Shift | None
    noise: float | None
    detectable: float | None
    estimator: Estimator
    #: For tests that use the other metrics of the comparison; None also if the variance is 0.
    spread: Spread | None = None
    #: The values of the history, one for each session, whose tail replaces Student's; empty: there is none.
    level: Sequence[float] = ()
    by_session: AgainstHistory | None = None
    #: Second run of a pair minus the first one; None: not significant, or not known.
    slot: float | None = None
    #: Whether the noise comes from so few runs alone that they can all be of one mode on each side.
    two_modes_possible: bool = False
    #: The centres of the sessions of both sides, in the metric's unit.
    centres: tuple[float, float] | None = None


def by_session(
    scale: Scale, sides: tuple[Sequence[Sequence[float]], Sequence[Sequence[float]]]
) -> Estimate | None:
    """The difference between the sessions of both sides, in the metric's unit; None if there are too few sessions."""
    if len(sides[0]) < FEWEST_SESSIONS or not sides[1]:
        return None
    old, new = map(scale.work_sessions, sides)
    centres = centre(sides[0]), centre(sides[1])
    found = against_history(old, new, difference=scale.value(centres[1]) - scale.value(centres[0]))
    variance = found.level_noise**2
    return Estimate(
        difference=found.shift,
        noise=found.noise,
        detectable=found.detectable,
        estimator=Estimator.MEDIANS,
        spread=Spread(variance, found.freedom, found.error**2 / variance) if variance else None,
        level=found.level if variance else (),
        by_session=found,
        centres=centres,
    )


def of_pairs(
    scale: Scale, pairs: Sequence[tuple[float, float]], contender_second: Sequence[bool]
) -> Estimate:
    """The location of the differences within alternated pairs; the noise is that of one run within its pair.

    Neither contains the effect of the slot.
    """
    slots = without_slot([scale.value(new) - scale.value(old) for old, new in pairs], contender_second)
    differences = slots.differences
    count = len(differences)
    deviation = sample_deviation(differences)
    noise = (noise_floor(differences) or 0.0) / math.sqrt(2)
    return Estimate(
        difference=compare_pairs(differences, alpha=0.05),
        noise=noise,
        detectable=smallest_detectable(noise, count, count, count - 1),
        estimator=Estimator.PAIRS,
        spread=_spread(deviation**2, count - 1, 1 / count),
        slot=slots.effect,
    )


def of_runs(
    old: list[float], new: list[float], past: list[float], between_medians: float | None, scale: Scale
) -> Estimate:
    """The difference between independent runs. ``old``, ``new`` and ``past`` are sorted working values.

    With fewer than 3 runs on a side it is that of the medians, so that a spike does not move it, and the noise is that
    of ``past``, which is also the least noise of 3 to 5 runs: so few cannot show that a metric has two modes.
    """
    fewest = min(len(old), len(new))
    floor = (noise_floor(past) or 0.0) if len(past) >= ROBUST_FROM else None
    if fewest < FEWEST_RUNS:
        return _of_history(old, new, past, floor, between_medians)
    noise = max(noise_floor(old) or 0.0, noise_floor(new) or 0.0)
    means = Estimator.GEOMETRIC_MEANS if scale.logs else Estimator.MEANS
    least = floor or 0.0
    if fewest < ROBUST_FROM:
        noise = max(noise, least)
        found, estimator = _welch(old, new, least), means
    elif _share_of_ties(old, new) > MANY_TIES:
        found, estimator, least = _discrete(old, new), means, 0.0
    else:
        found, estimator, least = shift(np.asarray(old), np.asarray(new)), Estimator.HODGES_LEHMANN, 0.0
    detectable = smallest_detectable(noise, len(old), len(new))
    spread = _pooled(old, new, least)
    two_modes_possible = fewest < ROBUST_FROM and floor is None
    return Estimate(found, noise, detectable, estimator, spread, two_modes_possible=two_modes_possible)


def _of_history(
    old: list[float], new: list[float], past: list[float], noise: float | None, between_medians: float | None
) -> Estimate:
    if noise is None or between_medians is None:
        return Estimate(None, noise, None, Estimator.MEDIANS)
    freedom = len(past) - 1
    factor = median_variance(len(old)) + median_variance(len(new))
    return Estimate(
        difference=student(between_medians, noise * math.sqrt(factor), freedom),
        noise=noise,
        detectable=smallest_detectable(noise, len(old), len(new), freedom),
        estimator=Estimator.MEDIANS,
        spread=_spread(noise**2, freedom, factor),
        level=past if noise else (),
    )


def _spread(variance: float, freedom: float, factor: float) -> Spread | None:
    return Spread(variance, freedom, factor) if variance else None


def _deviation(side: Sequence[float]) -> float:
    """The sample standard deviation, at least that of rounding to the resolution of the side."""
    return max(sample_deviation(side), resolution(side) / math.sqrt(12))


def _pooled(old: Sequence[float], new: Sequence[float], floor: float) -> Spread | None:
    """The variance of both sides together."""
    freedom = len(old) + len(new) - 2
    variance = ((len(old) - 1) * _deviation(old) ** 2 + (len(new) - 1) * _deviation(new) ** 2) / freedom
    return _spread(max(variance, floor**2), freedom, 1 / len(old) + 1 / len(new))


def _welch(old: Sequence[float], new: Sequence[float], floor: float = 0.0) -> Shift:
    """Difference of means under unequal variances, with Satterthwaite's degrees of freedom.

    The standard deviation of a value is at least ``floor``.
    """
    parts = [(_deviation(side) ** 2 / len(side), len(side) - 1) for side in (old, new)]
    variance = math.fsum(part for part, _ in parts)
    difference = mean(new) - mean(old)
    least = floor**2 * (1 / len(old) + 1 / len(new))
    if variance == 0:
        return student(difference, math.sqrt(least), len(old) + len(new) - 2)
    freedom = 1 / math.fsum((part / variance) ** 2 / degrees for part, degrees in parts)
    return student(difference, math.sqrt(max(variance, least)), freedom)


def _share_of_ties(old: Sequence[float], new: Sequence[float]) -> float:
    """The share of the pairwise differences that are 0."""
    first, second = np.asarray(old), np.asarray(new)
    ties = np.searchsorted(first, second, side="right") - np.searchsorted(first, second, side="left")
    return float(ties.sum()) / (len(old) * len(new))


def _discrete(old: Sequence[float], new: Sequence[float]) -> Shift:
    """Difference of means of a metric with few distinct values.

    P is the larger one of Welch's test and of the rank test given the ties; the interval is the one of Student's form that
    belongs to this p.
    """
    found = _welch(old, new)
    p = max(found.p, _p_given_ties(old, new))
    if p == found.p or found.estimate == 0:
        return found
    freedom = len(old) + len(new) - 2
    error = abs(found.estimate) / -float(stdtrit(freedom, p / 2)) if p < 1 else math.inf
    return replace(student(found.estimate, error, freedom), p=p)


def _p_given_ties(old: Sequence[float], new: Sequence[float]) -> float:
    """Two-sided p of the rank sum given the ties; for two distinct values Fisher's exact test with mid-p.

    Lancaster 1961, J. Amer. Statist. Assoc. 56:223-234; Hollander, Wolfe & Chicken 2014, 4.1 for the normal
    approximation of more than two values, here with correction for continuity.
    """
    m, n = len(old), len(new)
    values, counts = np.unique(np.concatenate([old, new]), return_counts=True)
    if len(values) == 1:
        return 1.0
    if len(values) == 2:
        high = int(counts[1])
        seen = sum(value == values[1] for value in new)
        least, most = max(0, high - m), min(n, high)
        weights = [math.comb(n, k) * math.comb(m, high - k) for k in range(least, most + 1)]
        at, total = seen - least, sum(weights)
        tail = min(sum(weights[:at]), sum(weights[at + 1 :]))
        return min(1.0, float((2 * tail + weights[at]) / total))
    first, second = np.asarray(old), np.asarray(new)
    below = np.searchsorted(first, second, side="left").sum()
    at_most = np.searchsorted(first, second, side="right").sum()
    wins = float(below + at_most) / 2 - m * n / 2
    ties = float((counts**3 - counts).sum()) / ((m + n) * (m + n - 1))
    deviation = math.sqrt(m * n / 12 * (m + n + 1 - ties))
    return min(1.0, 2 * float(ndtr(-max(0.0, abs(wins) - 0.5) / deviation)))
