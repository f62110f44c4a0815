"""Comparison of two samples: whether the contender is better or worse than the baseline.

Every value is one run (its median over repeats). Repeats of one run share its placement and are not independent, so they
are not pooled (Kalibera & Jones 2013, Rigorous Benchmarking in Reasonable Time).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anubis.analysis.samples.multiplicity import adjusted, mean_effect
from anubis.analysis.samples.ranks import Shift, shift
from anubis.analysis.samples.sessions import (
    FEWEST_SESSIONS,
    AgainstHistory,
    against_history,
    centre,
    grouped,
    median_variance,
    student,
)
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

__all__ = ["compare", "compare_many", "next_step", "render", "scale_of"]

#: Minimum number of runs on each side for a test; with fewer runs there is only a ratio.
FEWEST_RUNS = 3
#: Largest log ratio whose ratio is finite in a double.
MAX_LOG = 709.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """The difference, the noise of one run and the smallest detectable difference, in working values; None: unknown."""

    difference: Shift | None
    noise: float | None
    detectable: float | None


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of the computation: logs, or differences in units of the baseline."""

    logs: bool
    #: Divisor of the values; 1 for logs.
    unit: float

    def work(self, values: Sequence[float]) -> list[float]:
        """Sorted working values."""
        return sorted(map(self.value, values))

    def value(self, value: float) -> float:
        """One working value."""
        return math.log(value) if self.logs else value / self.unit

    def centre(self, values: Sequence[float]) -> float:
        """The working value of the median."""
        return self.value(median(sorted(values)))

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
    baseline_sessions: Sequence[int] = (),
    contender_sessions: Sequence[int] = (),
) -> Verdict:
    """Judge one metric; each value is one run's median, in ``units``.

    - at least 3 sessions in ``baseline_sessions`` (the number of values in each): ``against_history``;
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
    scale = scale_of(baseline, contender, history)
    old, new, past = scale.work(baseline), scale.work(contender), scale.work(history)
    sides = grouped(baseline, baseline_sessions), grouped(contender, contender_sessions)
    between_medians = scale.centre(contender) - scale.centre(baseline) if old and new else None
    by_session = _by_session(scale, sides)
    found = (
        Estimate(by_session.shift, by_session.noise, by_session.detectable)
        if by_session
        else _estimate(old, new, past, between_medians)
    )
    verdict = Verdict(
        metric=metric,
        units=units,
        judgement=Judgement.UNDECIDED,
        effect=None if between_medians is None else scale.effect(between_medians),
        interval=None,
        p=None,
        n_baseline=len(old),
        n_contender=len(new),
        baseline=median(sorted(baseline)) if old else None,
        contender=median(sorted(contender)) if new else None,
        min_effect=min_effect,
        noise_floor=None if found.noise is None else scale.effect(found.noise),
        detectable=None if found.detectable is None else scale.effect(found.detectable),
        more_runs=ROBUST_FROM - min(len(old), len(new)) if old and new else None,
        better=better,
        estimator=Estimator.MEDIANS if by_session else _estimator(scale, min(len(old), len(new))),
        sessions=(len(sides[0]), len(sides[1])) if baseline_sessions else None,
    )
    if found.difference is not None:
        verdict = _judged(verdict, scale, found, by_session)
    return verdict if by_session is None else _with_sessions(verdict, scale, by_session, sides)


def _by_session(
    scale: Scale, sides: tuple[Sequence[Sequence[float]], Sequence[Sequence[float]]]
) -> AgainstHistory | None:
    """The comparison of the sessions of both sides; None if there are too few."""
    if len(sides[0]) < FEWEST_SESSIONS or not sides[1]:
        return None
    difference = scale.value(centre(sides[1])) - scale.value(centre(sides[0]))
    old, new = ([scale.work(session) for session in side] for side in sides)
    return against_history(old, new, difference=difference)


def _with_sessions(
    verdict: Verdict,
    scale: Scale,
    by_session: AgainstHistory,
    sides: tuple[Sequence[Sequence[float]], Sequence[Sequence[float]]],
) -> Verdict:
    """The verdict with the centres of the sessions, and the noise split if it can be."""
    between, within = None, None
    if by_session.within is not None:
        between, within = scale.effect(by_session.between), scale.effect(by_session.within)
    return replace(
        verdict,
        baseline=centre(sides[0]),
        contender=centre(sides[1]),
        noise_between=between,
        noise_within=within,
    )


def _judged(verdict: Verdict, scale: Scale, found: Estimate, by_session: AgainstHistory | None) -> Verdict:
    """The verdict with the effect, its interval, and the judgement or what would decide it."""
    difference = found.difference
    assert difference is not None
    interval = (scale.effect(difference.low), scale.effect(difference.high))
    judgement = _judgement(interval, verdict.min_effect, verdict.better)
    more_runs, more_sessions = None, None
    if judgement is Judgement.UNDECIDED:
        gap = _gap(scale, difference.estimate, verdict.min_effect)
        if by_session is not None:
            more_runs, more_sessions = by_session.needed(gap)
        else:
            more_runs = _more_runs(found.noise or 0.0, gap, min(verdict.n_baseline, verdict.n_contender))
    return replace(
        verdict,
        judgement=judgement,
        effect=scale.effect(difference.estimate),
        interval=interval,
        p=difference.p,
        more_runs=more_runs,
        more_sessions=more_sessions,
    )


def _estimator(scale: Scale, fewest: int) -> Estimator:
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
            baseline_sessions=side.baseline_sessions,
            contender_sessions=side.contender_sessions,
        )
        for side in sides
    ]
    tested = [at for at, verdict in enumerate(verdicts) if verdict.p is not None]
    for at, adjusted_p in zip(tested, adjusted([verdicts[at].p or 0.0 for at in tested]), strict=True):
        verdict = replace(verdicts[at], adjusted_p=adjusted_p)
        if adjusted_p > false_discovery_rate and verdict.judgement is not Judgement.UNCHANGED:
            verdict = _again(verdict)
        verdicts[at] = verdict
    effect, interval, count = mean_effect(verdicts)
    return Comparison(verdicts=tuple(verdicts), mean_effect=effect, mean_interval=interval, mean_count=count)


def _again(verdict: Verdict) -> Verdict:
    """The verdict as undecided, with a proposal to measure as much again."""
    if verdict.more_runs is None and verdict.more_sessions is None:
        if verdict.sessions is not None and verdict.sessions[0] >= FEWEST_SESSIONS:
            verdict = replace(verdict, more_sessions=verdict.sessions[1])
        else:
            verdict = replace(verdict, more_runs=min(verdict.n_baseline, verdict.n_contender))
    return replace(verdict, judgement=Judgement.UNDECIDED)


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


def scale_of(baseline: Sequence[float], contender: Sequence[float], history: Sequence[float] = ()) -> Scale:
    """The scale on which two samples are compared: logs if all values are positive."""
    everything = [*baseline, *contender, *history]
    if all(value > 0 for value in everything):
        return Scale(logs=True, unit=1.0)
    largest = max(abs(value) for value in everything)
    middles = (abs(median(sorted(side))) for side in (baseline, contender) if len(side))
    unit = next((middle for middle in middles if middle > 0), largest) or 1.0
    return Scale(logs=False, unit=max(unit, largest * 1e-100))


def _estimate(
    old: list[float], new: list[float], past: list[float], between_medians: float | None
) -> Estimate:
    """The difference, the noise of one run and the smallest detectable difference, in working values.

    With few runs it is the difference of the medians, so that a spike on a side does not move it.
    """
    fewest = min(len(old), len(new))
    if fewest >= FEWEST_RUNS:
        noise = max(noise_floor(old) or 0.0, noise_floor(new) or 0.0)
        found = shift(np.asarray(old), np.asarray(new)) if fewest >= ROBUST_FROM else _welch(old, new)
        return Estimate(found, noise, smallest_detectable(noise, len(old), len(new)))
    if len(past) < ROBUST_FROM:
        return Estimate(None, None, None)
    noise, freedom = noise_floor(past) or 0.0, len(past) - 1
    if between_medians is None:
        return Estimate(None, noise, None)
    error = noise * math.sqrt(median_variance(len(old)) + median_variance(len(new)))
    return Estimate(
        student(between_medians, error, freedom),
        noise,
        smallest_detectable(noise, len(old), len(new), freedom),
    )


def _welch(old: list[float], new: list[float]) -> Shift:
    """Difference of means under unequal variances, with Satterthwaite's degrees of freedom."""
    parts = [(sample_deviation(side) ** 2 / len(side), len(side) - 1) for side in (old, new)]
    variance = math.fsum(part for part, _ in parts)
    difference = mean(new) - mean(old)
    if variance == 0:
        return student(difference, 0.0, 1.0)
    freedom = 1 / math.fsum((part / variance) ** 2 / degrees for part, degrees in parts)
    return student(difference, math.sqrt(variance), freedom)


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


def _gap(scale: Scale, difference: float, min_effect: float) -> float:
    """The distance of the difference from the nearer edge of the minimum effect."""
    return min(abs(difference - scale.distance(edge)) for edge in (-min_effect, min_effect))


def _more_runs(noise: float, gap: float, fewest: int) -> int | None:
    needed = runs_needed(noise, gap)
    return None if needed is None else max(1, needed - fewest)
