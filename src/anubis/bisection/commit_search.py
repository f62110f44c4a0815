"""The search for the commit that changed a metric, and the classification of one commit. Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import expm1, log1p

from anubis.analysis.samples.compare import compare
from anubis.analysis.samples.estimates import FEWEST_RUNS
from anubis.model.verdict import Judgement

#: Runs of the good and of the bad commit from which the noise is estimated.
FIRST_RUNS = 3
#: Number of values from which on a single run of a commit can be judged with the noise of other runs.
HISTORY = 6


class Side(StrEnum):
    """The side of a commit. SKIPPED: it cannot be measured, or is still undecided after the allowed runs."""

    GOOD = "good"
    BAD = "bad"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Search:
    """The commits that may be the first bad one: ``bad`` and its ancestors that are not ancestors of a good commit."""

    #: Candidate -> its parents; parents that are not candidates are good. Parents come before children.
    parents: Mapping[str, Sequence[str]]
    bad: str
    skipped: frozenset[str] = frozenset()

    @cached_property
    def _ancestors(self) -> dict[str, int]:
        """Candidate -> itself and its ancestors among the candidates, as a bit set."""
        ancestors: dict[str, int] = {}
        for at, (commit, parents) in enumerate(self.parents.items()):
            bits = 1 << at
            for parent in parents:
                bits |= ancestors.get(parent, 0)
            ancestors[commit] = bits
        return ancestors

    @property
    def suspects(self) -> list[str]:
        """The commits that may be the first bad one, oldest first."""
        return list(self.parents)

    @property
    def steps_left(self) -> int:
        """The maximum number of remaining steps, if no commit is skipped and the history is linear."""
        return max(0, (len(self.parents) - 1).bit_length())

    def next(self) -> str | None:
        """The commit that excludes the most suspects in the worse case; None if no commit excludes any."""
        count = len(self.parents)
        best, best_excluded = None, 0
        for commit, bits in self._ancestors.items():
            if commit not in self.skipped:  # the bad commit has all others as ancestors, so it excludes none
                excluded = min(bits.bit_count(), count - bits.bit_count())
                if excluded > best_excluded:
                    best, best_excluded = commit, excluded
        return best

    def marked(self, commit: str, side: Side) -> "Search":
        """The search after the side of a commit is known."""
        if side is Side.SKIPPED:
            return replace(self, skipped=self.skipped | {commit})
        ancestors = self._ancestors[commit]
        kept = {
            other: parents
            for at, (other, parents) in enumerate(self.parents.items())
            if bool(ancestors >> at & 1) is (side is Side.BAD)
        }
        bad = commit if side is Side.BAD else self.bad
        return Search(kept, bad, self.skipped & kept.keys())


def search(parents: Mapping[str, Sequence[str]], bad: str) -> Search:
    """A new search; ``parents`` as in ``Search``. Raises ValueError if ``bad`` is not a candidate."""
    if bad not in parents:
        raise ValueError(f"{bad} is not among the candidates")
    return Search(dict(parents), bad)


def side_of(
    values: Sequence[float], good: Sequence[float], bad: Sequence[float]
) -> tuple[Side | None, int | None]:
    """The side of a commit with these values, one per run; None while it is undecided.

    The boundary is halfway between good and bad. A commit is bad if the whole 95 % interval of its effect against the
    good or the bad commit lies beyond the boundary, and good if it lies before it. The second result is the number of
    further runs that would probably decide it.
    """
    whole = compare("", good, bad).effect or 0.0
    positive = all(value > 0 for value in (*values, *good, *bad))
    sides: set[Side] = set()
    more: list[int] = []
    for reference, other, here in ((good, bad, Side.GOOD), (bad, good, Side.BAD)):
        towards = whole if here is Side.GOOD else compare("", bad, good).effect or 0.0
        boundary = expm1(log1p(towards) / 2) if positive else towards / 2
        verdict = compare(
            "",
            reference,
            values,
            min_effect=abs(boundary),
            # The noise of three or more runs is estimated from these runs: the references may have different noise.
            history=at_level(reference, other) if min(len(reference), len(values)) < FEWEST_RUNS else (),
        )
        if verdict.interval is not None and boundary:
            low, high = (end / boundary for end in verdict.interval)
            nearest, farthest = min(low, high), max(low, high)
            if farthest < 1:
                sides.add(here)
            elif nearest > 1:
                sides.add(Side.BAD if here is Side.GOOD else Side.GOOD)
        if verdict.judgement is Judgement.UNDECIDED and verdict.more_runs:
            more.append(verdict.more_runs)
    if len(sides) == 1:
        return sides.pop(), None
    return None, min(more, default=None)


def at_level(reference: Sequence[float], other: Sequence[float]) -> list[float]:
    """The values of both sides, shifted to the level of the first: the noise for judging a single run."""
    if not reference or not other:
        return [*reference, *other]
    level, other_level = _median(reference), _median(other)
    positive = all(value > 0 for value in (*reference, *other))
    return [
        *reference,
        *(value * (level / other_level) if positive else value + level - other_level for value in other),
    ]


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def first_runs(known: int) -> int:
    """Initial number of runs of a commit if good and bad have ``known`` values together."""
    return 1 if known >= HISTORY else FIRST_RUNS


def next_runs(have: int, more: int | None, max_runs: int) -> int:
    """Number of runs for a commit that is undecided after ``have``: at most twice as many, and at most ``max_runs``."""
    return min(max_runs, have + max(1, min(more or have, have)))
