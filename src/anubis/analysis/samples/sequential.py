"""Judgement of alternated pairs while they arrive: the first look at which a metric is decided counts."""

import math
from collections.abc import Sequence
from dataclasses import replace

from anubis.analysis.samples.compare import compare_pairs_at
from anubis.analysis.samples.looks import FIRST, levels
from anubis.model.verdict import Judgement, Sides, Verdict

#: Rate of false decisions over all looks and all metrics that are judged together.
ALPHA = 0.05
#: Share of ``ALPHA`` that the levels spend: few ranks cross the bounds of a normal sum 7 % more often (simulated).
SPENT = 0.85
#: Pairs from which on the effect is shown although nothing can be decided yet.
_FEWEST = 3
#: More pairs than this are not proposed.
_MOST_PAIRS = 10_000


def judged(metrics: Sequence[Sides], most: int, *, alpha: float = ALPHA) -> list[Verdict]:
    """The verdict on each metric after all looks so far of a test with at most ``most`` pairs.

    ``pairs`` of each metric are (0, 0), (1, 1) and so on, in the order in which they were measured. A metric keeps the
    verdict of the look at which it was decided. Intervals are repeated confidence intervals (Jennison & Turnbull 1989,
    J. R. Stat. Soc. B 51:305-334): with probability 1 - ``alpha`` those of all looks at all metrics contain the true
    effects, where the differences within pairs are symmetric around them. They are without an effect whatever the machine
    does, if a coin decides which run of a pair is first.
    """
    each = levels(most, SPENT * alpha / max(1, len(metrics)))
    return [_judged(sides, each) for sides in metrics]


def _judged(sides: Sides, each: dict[int, float]) -> Verdict:
    count = len(sides.pairs)
    verdict = None
    for pairs, level in each.items():
        if pairs > count:
            break
        verdict = compare_pairs_at(_first(sides, pairs), level)
        if verdict.judgement is not Judgement.UNDECIDED:
            return verdict
    if verdict is None and count >= _FEWEST:
        verdict = compare_pairs_at(sides, 0.0)
    if verdict is None:
        return _unjudged(sides)
    return replace(verdict, more_runs=_further_pairs(verdict, count))


def _first(sides: Sides, pairs: int) -> Sides:
    """The metric with its first pairs alone."""
    return replace(
        sides,
        baseline=sides.baseline[:pairs],
        contender=sides.contender[:pairs],
        pairs=sides.pairs[:pairs],
    )


def _unjudged(sides: Sides) -> Verdict:
    """The verdict on too few pairs for an estimate."""
    return Verdict(
        metric=sides.metric,
        units=sides.units,
        judgement=Judgement.UNDECIDED,
        effect=None,
        interval=None,
        p=None,
        n_baseline=len(sides.baseline),
        n_contender=len(sides.contender),
        baseline=None,
        contender=None,
        min_effect=sides.min_effect,
        better=sides.better,
        more_runs=FIRST - len(sides.pairs),
    )


def _further_pairs(verdict: Verdict, count: int) -> int | None:
    """How many pairs after ``count`` an interval of this noise excludes the nearer edge; None: too close to it."""
    if verdict.interval is None or verdict.effect is None:
        return max(2, FIRST - count)
    low, high = verdict.interval
    gap = min(abs(verdict.effect - edge) for edge in (-verdict.min_effect, verdict.min_effect))
    needed = verdict.n_baseline * ((high - low) / 2 / gap) ** 2 if gap else math.inf
    return max(2, math.ceil(needed) - count) if needed <= _MOST_PAIRS else None
