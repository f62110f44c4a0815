"""Comparison of two samples: whether the contender is better or worse than the baseline.

Every value is one run (its median over repeats). Repeats of one run share its placement and are not independent, so they
are not pooled (Kalibera & Jones 2013, Rigorous Benchmarking in Reasonable Time).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from anubis.analysis.samples import estimates
from anubis.analysis.samples.estimates import FEWEST_RUNS, Estimate
from anubis.analysis.samples.multiplicity import adjusted, mean_effect
from anubis.analysis.samples.pairs import signed_rank
from anubis.analysis.samples.ranks import Shift
from anubis.analysis.samples.scale import Scale, scale_of
from anubis.analysis.samples.sessions import grouped
from anubis.analysis.samples.spread import ROBUST_FROM, median, runs_needed
from anubis.analysis.samples.together import Together
from anubis.analysis.verdict_text import next_step, render
from anubis.model.errors import BadInputError
from anubis.model.verdict import Comparison, Judgement, Sides, Verdict

__all__ = ["compare", "compare_many", "next_step", "render", "scale_of"]


@dataclass(frozen=True, slots=True)
class _Sample:
    """One metric of a comparison."""

    sides: Sides
    scale: Scale
    estimate: Estimate
    #: The difference of the medians in working units; None: a side has no value.
    between_medians: float | None
    #: The medians of both sides in the metric's unit; None: a side has no value.
    medians: tuple[float | None, float | None]

    @classmethod
    def of(cls, sides: Sides) -> "_Sample":
        old, new, past = sides.baseline, sides.contender, sides.history
        _check(sides.metric, old, new, past, sides.min_effect)
        if min(len(old), len(new)) >= FEWEST_RUNS and not scale_of(past).logs:
            past = ()  # differences would replace the ratios of values that have ratios
        scale = scale_of(old, new, past)
        medians = median(sorted(old)) if old else None, median(sorted(new)) if new else None
        between_medians = None
        if medians[0] is not None and medians[1] is not None:
            between_medians = scale.value(medians[1]) - scale.value(medians[0])
        if len(sides.pairs) >= FEWEST_RUNS:
            pairs = [(old[i], new[j]) for i, j in sides.pairs]
            estimate = estimates.of_pairs(scale, pairs, sides.contender_second)
        else:
            sessions = grouped(old, sides.baseline_sessions), grouped(new, sides.contender_sessions)
            estimate = estimates.by_session(scale, sessions) or estimates.of_runs(
                scale.work(old), scale.work(new), scale.work(past), between_medians, scale
            )
        return cls(sides, scale, estimate, between_medians, estimate.centres or medians)


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
    pairs: Sequence[tuple[int, int]] = (),
    contender_second: Sequence[bool] = (),
) -> Verdict:
    """Judge one metric; each value is one run's median, in ``units``.

    - at least 3 of ``pairs``: the location of the differences within them, ``compare_pairs``, without the effect of
      the slot, ``without_slot``;
    - at least 3 sessions in ``baseline_sessions`` (the number of values in each): ``against_history``;
    - at least 6 runs a side: Hodges-Lehmann ratio on logs with the exact Mann-Whitney interval, or the difference of
      mean logs if many values of both sides are equal;
    - 3 to 5: difference of mean logs with Welch's interval (Welch 1947, Biometrika 34:28-35);
    - fewer, with at least 6 earlier values of the same level in ``history``: the ratio of medians with the
      noise of the history and Student's t;
    - fewer without history: the ratio of medians, and "not enough runs".

    Tests against a history use the tail of its values (``Calibration``) in place of Student's.

    If any value is zero or negative, differences replace log ratios, relative to the absolute median of the baseline (of
    the contender, if that is zero). The judgement depends on the whole 95 % interval: beyond ``min_effect`` it is a
    change, inside it is no change, else it is undecided.

    Raises BadInputError for a value that is not finite, and for a ``min_effect`` below 0.
    """
    sides = Sides(
        metric=metric,
        baseline=tuple(baseline),
        contender=tuple(contender),
        units=units,
        better=better,
        min_effect=min_effect,
        history=tuple(history),
        baseline_sessions=tuple(baseline_sessions),
        contender_sessions=tuple(contender_sessions),
        pairs=tuple(pairs),
        contender_second=tuple(contender_second),
    )
    sample = _Sample.of(sides)
    (difference,) = Together.of([sample.estimate]).differences([sample.estimate])
    return _verdict(sample, difference, None)


def compare_many(sides: Iterable[Sides], *, false_discovery_rate: float = 0.05) -> Comparison:
    """Judge many metrics together: a change must also be significant after adjustment (Benjamini-Hochberg).

    The adjusted p values are those of a test whose variances are shrunk towards those of the other metrics
    (``Prior``), because p of a few ranks cannot be small enough; the interval of each metric is its own. A change that
    is not significant after adjustment is undecided; twice the number of runs is proposed for it.
    """
    samples = [_Sample.of(one) for one in sides]
    all_estimates = [one.estimate for one in samples]
    together = Together.of(all_estimates)
    p_values = together.p_values(all_estimates)
    of_all = iter(adjusted([p for p in p_values if p is not None]))
    verdicts = [
        _verdict(sample, difference, None if p is None else next(of_all), false_discovery_rate)
        for sample, difference, p in zip(samples, together.differences(all_estimates), p_values, strict=True)
    ]
    effect, interval, count = mean_effect(verdicts)
    return Comparison(verdicts=tuple(verdicts), mean_effect=effect, mean_interval=interval, mean_count=count)


def compare_pairs_at(sides: Sides, alpha: float) -> Verdict:
    """Judge alternated pairs, at least 3, by their ranks with an interval of confidence 1 - ``alpha``.

    With ``alpha`` = 0, and where so few pairs cannot reach it, the verdict is undecided without an interval. It has no p
    and no detectable effect, because those of a single test do not hold for one that is repeated. The effect of the slot
    is not removed: the test stays exact only if what is removed does not depend on the order.
    """
    sample = _Sample.of(sides)
    pairs = [(sides.baseline[i], sides.contender[j]) for i, j in sides.pairs]
    differences = [sample.scale.value(new) - sample.scale.value(old) for old, new in pairs]
    found = signed_rank(differences, alpha)
    verdict = replace(_verdict(sample, found, None), p=None, detectable=None, more_runs=None)
    return verdict if math.isfinite(found.low) else replace(verdict, interval=None)


def _verdict(
    sample: _Sample, difference: Shift | None, adjusted_p: float | None, most_p: float = 1.0
) -> Verdict:
    """The verdict on one metric; a change whose ``adjusted_p`` among all metrics is above ``most_p`` is undecided."""
    sides, scale, found = sample.sides, sample.scale, sample.estimate
    effect, interval, conclusion = sample.between_medians, None, _untested(sides)
    if difference is not None:
        effect, interval = difference.estimate, (scale.effect(difference.low), scale.effect(difference.high))
        if adjusted_p is not None:
            adjusted_p = max(adjusted_p, difference.p)
        conclusion = _conclusion(sample, difference, interval, is_significant=(adjusted_p or 0.0) <= most_p)
    between, within = None, None
    if found.by_session is not None and found.by_session.within is not None:
        between, within = scale.effect(found.by_session.between), scale.effect(found.by_session.within)
    return Verdict(
        metric=sides.metric,
        units=sides.units,
        judgement=conclusion.judgement,
        effect=None if effect is None else scale.effect(effect),
        interval=interval,
        p=None if difference is None else difference.p,
        n_baseline=len(sides.baseline),
        n_contender=len(sides.contender),
        baseline=sample.medians[0],
        contender=sample.medians[1],
        min_effect=sides.min_effect,
        noise_floor=None if found.noise is None else scale.effect(found.noise),
        detectable=None if found.detectable is None else scale.effect(found.detectable),
        more_runs=conclusion.more_runs,
        better=sides.better,
        adjusted_p=adjusted_p,
        sessions=(len(sides.baseline_sessions), len(sides.contender_sessions))
        if sides.baseline_sessions
        else None,
        noise_between=between,
        noise_within=within,
        more_sessions=conclusion.more_sessions,
        estimator=found.estimator,
        slot_effect=None if found.slot is None else scale.effect(found.slot),
        two_modes_possible=found.two_modes_possible,
    )


class _Conclusion(NamedTuple):
    """The judgement, and what would decide it if it is undecided."""

    judgement: Judgement
    more_runs: int | None = None
    more_sessions: int | None = None


def _untested(sides: Sides) -> _Conclusion:
    """The conclusion of a metric with too few runs for a test."""
    fewest = min(len(sides.baseline), len(sides.contender))
    return _Conclusion(Judgement.UNDECIDED, ROBUST_FROM - fewest if fewest else None)


def _conclusion(
    sample: _Sample, difference: Shift, interval: tuple[float, float], *, is_significant: bool
) -> _Conclusion:
    """The conclusion from the interval; for a change that is not significant, to measure as much again."""
    sides, by_session = sample.sides, sample.estimate.by_session
    judgement = _judgement(interval, sides.min_effect, sides.better)
    fewest = min(len(sides.baseline), len(sides.contender))
    found = _Conclusion(judgement)
    if judgement is Judgement.UNDECIDED:
        gap = _gap(sample.scale, difference.estimate, sides.min_effect)
        if by_session is not None:
            found = _Conclusion(judgement, *by_session.needed(gap))
        else:
            found = _Conclusion(judgement, _more_runs(sample.estimate.noise or 0.0, gap, fewest))
    if is_significant or judgement is Judgement.UNCHANGED:
        return found
    if found.more_runs is not None or found.more_sessions is not None:
        return found
    if by_session is not None:
        return _Conclusion(Judgement.UNDECIDED, more_sessions=len(sides.contender_sessions))
    return _Conclusion(Judgement.UNDECIDED, fewest)


def _check(
    metric: str,
    baseline: Sequence[float],
    contender: Sequence[float],
    history: Sequence[float],
    min_effect: float,
) -> None:
    for side, values in (("baseline", baseline), ("contender", contender), ("history", history)):
        if not all(map(math.isfinite, values)):
            bad = next(value for value in values if not math.isfinite(value))
            raise BadInputError(
                f"metric '{metric}' has the value {bad} in its {side}, which is not a finite number",
                remedy="leave out the runs without a value, or correct the benchmark",
            )
    if not (math.isfinite(min_effect) and min_effect >= 0):
        raise BadInputError(
            f"the minimum effect of metric '{metric}' is {min_effect}; it must be 0 or more",
            remedy="give it as a ratio, 0.02 for 2 %",
        )


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
