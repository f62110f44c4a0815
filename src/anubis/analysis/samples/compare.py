"""Comparison of two samples: whether the contender is better or worse than the baseline.

Every value is one run (its median over repeats). Repeats of one run share its placement and are not independent, so they
are not pooled (Kalibera & Jones 2013, Rigorous Benchmarking in Reasonable Time).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr, stdtrit

from anubis.analysis.samples.multiplicity import adjusted, mean_effect
from anubis.analysis.samples.ranks import Shift, shift
from anubis.analysis.samples.spread import (
    ROBUST_FROM,
    mean,
    median,
    noise_floor,
    runs_needed,
    sample_deviation,
    smallest_detectable,
)
from anubis.analysis.verdict_text import next_step, render
from anubis.model.errors import BadInputError
from anubis.model.verdict import Comparison, Estimator, Judgement, Sides, Verdict

__all__ = ["compare", "compare_many", "next_step", "render"]

#: Minimum number of runs on each side for a test; with fewer runs there is only a ratio.
FEWEST_RUNS = 3
#: Largest log ratio whose ratio is finite in a double.
MAX_LOG = 709.0


@dataclass(frozen=True, slots=True)
class _Scale:
    """The scale of the computation: logs, or differences in units of the baseline."""

    logs: bool
    #: Divisor of the values; 1 for logs.
    unit: float

    def work(self, values: Sequence[float]) -> list[float]:
        """Sorted working values."""
        if self.logs:
            return sorted(math.log(value) for value in values)
        return sorted(value / self.unit for value in values)

    def centre(self, values: Sequence[float]) -> float:
        """The working value of the median."""
        return self.work([median(sorted(values))])[0]

    def effect(self, difference: float) -> float:
        """A difference of working values as a ratio minus one."""
        return math.expm1(min(difference, MAX_LOG)) if self.logs else difference

    def distance(self, effect: float) -> float:
        """The inverse of ``effect``."""
        if not self.logs:
            return effect
        return math.log1p(effect) if effect > -1 else -math.inf


def compare(
    metric: str,
    baseline: Sequence[float],
    contender: Sequence[float],
    *,
    units: str = "none",
    better: str = "none",
    min_effect: float = 0.02,
    history: Sequence[float] = (),
) -> Verdict:
    """Judge one metric; each value is one run's median, in ``units``.

    - at least 6 runs a side: Hodges-Lehmann ratio on logs with the exact Mann-Whitney interval;
    - 3 to 5: difference of mean logs with Welch's interval (Welch 1947, Biometrika 34:28-35);
    - fewer, with at least 6 earlier values of the same level in ``history``: the ratio of medians with the
      noise of the history and Student's t;
    - fewer without history: the ratio of medians, and "not enough runs".

    If any value is zero or negative, differences replace log ratios, relative to the absolute median of the baseline (of
    the contender, if that is zero). The judgement depends on the whole 95 % interval: beyond ``min_effect`` it is a
    change, inside it is no change, else it is undecided.

    Raises BadInputError for a value that is not finite, and for a ``min_effect`` below 0.
    """
    _check(metric, baseline, contender, history, min_effect)
    scale = _scale(baseline, contender, history)
    old, new, past = scale.work(baseline), scale.work(contender), scale.work(history)
    between_medians = scale.centre(contender) - scale.centre(baseline) if old and new else None
    difference, noise, detectable = _estimate(old, new, past, between_medians)
    effect = interval = None
    judgement, more_runs = Judgement.UNDECIDED, None
    if difference is not None:
        effect = scale.effect(difference.estimate)
        interval = (scale.effect(difference.low), scale.effect(difference.high))
        judgement = _judgement(interval, min_effect, better)
        if judgement is Judgement.UNDECIDED:
            gap = _gap(scale, difference.estimate, min_effect)
            more_runs = _more_runs(noise or 0.0, gap, min(len(old), len(new)))
    elif between_medians is not None:
        effect = scale.effect(between_medians)
        more_runs = ROBUST_FROM - min(len(old), len(new))
    return Verdict(
        metric=metric,
        units=units,
        judgement=judgement,
        effect=effect,
        interval=interval,
        p=None if difference is None else difference.p,
        n_baseline=len(old),
        n_contender=len(new),
        baseline=median(sorted(baseline)) if old else None,
        contender=median(sorted(contender)) if new else None,
        min_effect=min_effect,
        noise_floor=None if noise is None else scale.effect(noise),
        detectable=None if detectable is None else scale.effect(detectable),
        more_runs=more_runs,
        better=better,
        estimator=_estimator(scale, min(len(old), len(new))),
    )


def _estimator(scale: _Scale, fewest: int) -> Estimator:
    """How the effect is estimated if the smaller side has this number of runs."""
    if fewest >= ROBUST_FROM:
        return Estimator.HODGES_LEHMANN
    if fewest >= FEWEST_RUNS:
        return Estimator.GEOMETRIC_MEANS if scale.logs else Estimator.MEANS
    return Estimator.MEDIANS


def compare_many(sides: Iterable[Sides], *, false_discovery_rate: float = 0.05) -> Comparison:
    """Judge many metrics together: a change must also be significant after adjustment (Benjamini-Hochberg).

    A change that is not significant after adjustment is undecided; twice the number of runs is proposed for it.
    """
    verdicts = [
        compare(
            side.metric,
            side.baseline,
            side.contender,
            units=side.units,
            better=side.better,
            min_effect=side.min_effect,
            history=side.history,
        )
        for side in sides
    ]
    tested = [at for at, verdict in enumerate(verdicts) if verdict.p is not None]
    for at, adjusted_p in zip(tested, adjusted([verdicts[at].p or 0.0 for at in tested]), strict=True):
        verdict = replace(verdicts[at], adjusted_p=adjusted_p)
        if adjusted_p > false_discovery_rate and verdict.judgement is not Judgement.UNCHANGED:
            again = verdict.more_runs or min(verdict.n_baseline, verdict.n_contender)
            verdict = replace(verdict, judgement=Judgement.UNDECIDED, more_runs=again)
        verdicts[at] = verdict
    effect, interval, count = mean_effect(verdicts)
    return Comparison(verdicts=tuple(verdicts), mean_effect=effect, mean_interval=interval, mean_count=count)


def _check(
    metric: str,
    baseline: Sequence[float],
    contender: Sequence[float],
    history: Sequence[float],
    min_effect: float,
) -> None:
    for side, values in (("baseline", baseline), ("contender", contender), ("history", history)):
        bad = next((value for value in values if not math.isfinite(value)), None)
        if bad is not None:
            raise BadInputError(
                f"metric '{metric}' has the value {bad} in its {side}, which is not a finite number",
                remedy="leave out the runs without a value, or correct the benchmark",
            )
    if not (math.isfinite(min_effect) and min_effect >= 0):
        raise BadInputError(
            f"the minimum effect of metric '{metric}' is {min_effect}; it must be 0 or more",
            remedy="give it as a ratio, 0.02 for 2 %",
        )


def _scale(baseline: Sequence[float], contender: Sequence[float], history: Sequence[float]) -> _Scale:
    everything = [*baseline, *contender, *history]
    if all(value > 0 for value in everything):
        return _Scale(logs=True, unit=1.0)
    largest = max(abs(value) for value in everything)
    middles = (abs(median(sorted(side))) for side in (baseline, contender) if len(side))
    unit = next((middle for middle in middles if middle > 0), largest) or 1.0
    return _Scale(logs=False, unit=max(unit, largest * 1e-100))


def _estimate(
    old: list[float], new: list[float], past: list[float], between_medians: float | None
) -> tuple[Shift | None, float | None, float | None]:
    """The difference, the noise of one run and the smallest detectable difference, in working values.

    With few runs it is the difference of the medians, so that a spike on a side does not move it.
    """
    fewest = min(len(old), len(new))
    if fewest >= FEWEST_RUNS:
        noise = max(noise_floor(old) or 0.0, noise_floor(new) or 0.0)
        found = shift(np.asarray(old), np.asarray(new)) if fewest >= ROBUST_FROM else _welch(old, new)
        return found, noise, smallest_detectable(noise, len(old), len(new))
    if len(past) < ROBUST_FROM:
        return None, None, None
    noise, freedom = noise_floor(past) or 0.0, len(past) - 1
    if between_medians is None:
        return None, noise, None
    error = noise * math.sqrt(_median_variance(len(old)) + _median_variance(len(new)))
    return (
        _student(between_medians, error, freedom),
        noise,
        smallest_detectable(noise, len(old), len(new), freedom),
    )


def _median_variance(n: int) -> float:
    """Variance of the median of n normal values of variance 1; up to two values it is their mean."""
    return (1.0 if n < FEWEST_RUNS else math.pi / 2) / n


def _welch(old: list[float], new: list[float]) -> Shift:
    """Difference of means under unequal variances, with Satterthwaite's degrees of freedom."""
    parts = [(sample_deviation(side) ** 2 / len(side), len(side) - 1) for side in (old, new)]
    variance = math.fsum(part for part, _ in parts)
    difference = mean(new) - mean(old)
    if variance == 0:
        return _student(difference, 0.0, 1.0)
    freedom = 1 / math.fsum((part / variance) ** 2 / degrees for part, degrees in parts)
    return _student(difference, math.sqrt(variance), freedom)


def _student(difference: float, error: float, freedom: float) -> Shift:
    """Interval and p of a difference with this standard error.

    Without any spread (a count that is the same in every run) the interval is a single point.
    """
    if error <= 1e-12 * abs(difference) or error == 0:
        return Shift(difference, difference, difference, 1.0 if difference == 0 else 0.0)
    half = float(stdtrit(freedom, 0.975)) * error
    p = 2 * float(stdtr(freedom, -abs(difference) / error))
    return Shift(difference, difference - half, difference + half, min(1.0, p))


def _judgement(interval: tuple[float, float], min_effect: float, better: str) -> Judgement:
    low, high = interval
    if -min_effect < low and high < min_effect:
        return Judgement.UNCHANGED
    if not (low >= min_effect and low > 0) and not (high <= -min_effect and high < 0):
        return Judgement.UNDECIDED
    return direction_judgement(upwards=low > 0, better=better)


def direction_judgement(*, upwards: bool, better: str) -> Judgement:
    """The judgement of a significant change in this direction."""
    if better == "none":
        return Judgement.CHANGED
    return Judgement.IMPROVED if upwards == (better == "higher") else Judgement.REGRESSED


def _gap(scale: _Scale, difference: float, min_effect: float) -> float:
    """The distance of the difference from the nearer edge of the minimum effect."""
    return min(abs(difference - scale.distance(edge)) for edge in (-min_effect, min_effect))


def _more_runs(noise: float, gap: float, fewest: int) -> int | None:
    needed = runs_needed(noise, gap)
    return None if needed is None else max(1, needed - fewest)
