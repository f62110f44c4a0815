"""Comparison of two samples: whether the contender is better or worse than the baseline.

Every value is one run (its median over repeats). Repeats of one run share its placement and are not independent, so they
are not pooled (Kalibera & Jones 2013, Rigorous Benchmarking in Reasonable Time).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from anubis.analysis.samples import estimates
from anubis.analysis.samples.calibration import Calibration, leave_one_out
from anubis.analysis.samples.estimates import FEWEST_RUNS, Estimate
from anubis.analysis.samples.moderation import Prior
from anubis.analysis.samples.multiplicity import adjusted, mean_effect
from anubis.analysis.samples.scale import Scale, scale_of
from anubis.analysis.samples.sessions import FEWEST_SESSIONS, AgainstHistory, centre, grouped
from anubis.analysis.samples.spread import ROBUST_FROM, median, runs_needed
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
    #: The values of each session of both sides.
    sessions: tuple[list[list[float]], list[list[float]]]

    @classmethod
    def of(cls, sides: Sides) -> "_Sample":
        old, new, past = sides.baseline, sides.contender, sides.history
        _check(sides.metric, old, new, past, sides.min_effect)
        if min(len(old), len(new)) >= FEWEST_RUNS and not scale_of(past).logs:
            past = ()  # differences would replace the ratios of values that have ratios
        scale = scale_of(old, new, past)
        between_medians = scale.centre(new) - scale.centre(old) if old and new else None
        sessions = grouped(old, sides.baseline_sessions), grouped(new, sides.contender_sessions)
        pairs = [(old[i], new[j]) for i, j in sides.pairs]
        if len(pairs) >= FEWEST_RUNS:
            estimate = estimates.of_pairs(scale, pairs, sides.contender_second)
        else:
            estimate = estimates.by_session(scale, sessions) or estimates.of_runs(
                scale.work(old), scale.work(new), scale.work(past), between_medians, scale
            )
        return cls(sides, scale, estimate, between_medians, sessions)


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
    return _Samples.of([sides]).verdicts()[0]


def compare_many(sides: Iterable[Sides], *, false_discovery_rate: float = 0.05) -> Comparison:
    """Judge many metrics together: a change must also be significant after adjustment (Benjamini-Hochberg).

    The adjusted p values are those of a test whose variances are shrunk towards those of the other metrics
    (``Prior``), because p of a few ranks cannot be small enough; the interval of each metric is its own. A change that
    is not significant after adjustment is undecided; twice the number of runs is proposed for it.
    """
    samples = _Samples.of([*sides])
    verdicts = samples.verdicts()
    among = samples.p_among()
    tested = [at for at, p in enumerate(among) if p is not None]
    for at, of_all in zip(tested, adjusted([among[at] or 0.0 for at in tested]), strict=True):
        adjusted_p = max(of_all, verdicts[at].p or 0.0)
        verdict = replace(verdicts[at], adjusted_p=adjusted_p)
        if adjusted_p > false_discovery_rate and verdict.judgement is not Judgement.UNCHANGED:
            verdict = _again(verdict)
        verdicts[at] = verdict
    effect, interval, count = mean_effect(verdicts)
    return Comparison(verdicts=tuple(verdicts), mean_effect=effect, mean_interval=interval, mean_count=count)


@dataclass(frozen=True, slots=True)
class _Samples:
    """The metrics of a comparison, and what they show together."""

    samples: list[_Sample]
    prior: Prior
    #: Of p values that do not, and that do use the prior.
    calibrations: tuple[Calibration, Calibration]

    @classmethod
    def of(cls, sides: Sequence[Sides]) -> "_Samples":
        samples = [_Sample.of(one) for one in sides]
        spreads = [one.estimate.spread for one in samples if one.estimate.spread is not None]
        prior = Prior.of([one.variance for one in spreads], [one.freedom for one in spreads])
        levels = [one.estimate.level for one in samples]
        own = Calibration.of(leave_one_out(levels, Prior()))
        among = Calibration.of(leave_one_out(levels, prior)) if prior.freedom else own
        return cls(samples, prior, (own, among))

    def verdicts(self) -> list[Verdict]:
        """The verdict on each metric alone."""
        own, _ = self.calibrations
        return [_verdict(one, one.estimate.calibrated(own)) for one in self.samples]

    def p_among(self) -> list[float | None]:
        """P of each metric among the others; None: no test was made."""
        _, among = self.calibrations
        return [one.estimate.p_among(self.prior, among) for one in self.samples]


def _verdict(sample: _Sample, found: Estimate) -> Verdict:
    sides, scale = sample.sides, sample.scale
    old, new = sides.baseline, sides.contender
    verdict = Verdict(
        metric=sides.metric,
        units=sides.units,
        judgement=Judgement.UNDECIDED,
        effect=None if sample.between_medians is None else scale.effect(sample.between_medians),
        interval=None,
        p=None,
        n_baseline=len(old),
        n_contender=len(new),
        baseline=median(sorted(old)) if old else None,
        contender=median(sorted(new)) if new else None,
        min_effect=sides.min_effect,
        noise_floor=None if found.noise is None else scale.effect(found.noise),
        detectable=None if found.detectable is None else scale.effect(found.detectable),
        more_runs=ROBUST_FROM - min(len(old), len(new)) if old and new else None,
        better=sides.better,
        estimator=found.estimator,
        slot_effect=None if found.slot is None else scale.effect(found.slot),
        sessions=(len(sample.sessions[0]), len(sample.sessions[1])) if sides.baseline_sessions else None,
    )
    if found.difference is not None:
        verdict = _judged(verdict, scale, found, found.by_session)
    if found.by_session is None:
        return verdict
    return _with_sessions(verdict, scale, found.by_session, sample.sessions)


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
