"""Which commit changed a metric: the search through commits, and the decision about one. Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import expm1, log1p

from anubis.analysis.samples.compare import compare
from anubis.model.verdict import Judgement

#: Runs of the good and of the bad commit that the noise is taken from.
FIRST_RUNS = 3
#: Values from which on one run of a commit can be judged by the noise of others.
HISTORY = 6


class Side(StrEnum):
    """Where a commit belongs. SKIPPED: it cannot be measured, or not be told with the runs allowed."""

    GOOD = "good"
    BAD = "bad"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Search:
    """The commits that may be the first bad one: ``bad`` and its ancestors that are no ancestors of a good one."""

    #: Candidate -> its parents; parents that are no candidates are good. Parents come before children.
    parents: Mapping[str, Sequence[str]]
    bad: str
    skipped: frozenset[str] = frozenset()

    @cached_property
    def _ancestors(self) -> dict[str, int]:
        """Candidate -> the set of its ancestors among them and itself, a bit for each."""
        found: dict[str, int] = {}
        for at, (commit, parents) in enumerate(self.parents.items()):
            bits = 1 << at
            for parent in parents:
                bits |= found.get(parent, 0)
            found[commit] = bits
        return found

    @property
    def suspects(self) -> list[str]:
        """What may be the first bad commit, oldest first."""
        return list(self.parents)

    @property
    def steps_left(self) -> int:
        """How many decisions at most remain, if none is skipped and history is a line."""
        return max(0, (len(self.parents) - 1).bit_length())

    def next(self) -> str | None:
        """The commit whose side tells most, whichever it is; None when no further one can tell anything."""
        count = len(self.parents)
        best, most = None, 0
        for commit, bits in self._ancestors.items():
            if commit != self.bad and commit not in self.skipped:
                told = min(bits.bit_count(), count - bits.bit_count())
                if told > most:
                    best, most = commit, told
        return best

    def marked(self, commit: str, side: Side) -> "Search":
        """The search once the commit's side is known."""
        if side is Side.SKIPPED:
            return replace(self, skipped=self.skipped | {commit})
        mine = self._ancestors[commit]
        kept = {
            other: parents
            for at, (other, parents) in enumerate(self.parents.items())
            if bool(mine >> at & 1) is (side is Side.BAD)
        }
        bad = commit if side is Side.BAD else self.bad
        return Search(kept, bad, self.skipped & kept.keys())


def search(parents: Mapping[str, Sequence[str]], bad: str) -> Search:
    """A search that has not begun; ``parents`` as in ``Search``. ValueError when ``bad`` is no candidate."""
    if bad not in parents:
        raise ValueError(f"{bad} is not among the candidates")
    return Search(dict(parents), bad)


def side_of(
    values: Sequence[float], good: Sequence[float], bad: Sequence[float]
) -> tuple[Side | None, int | None]:
    """The side on which a commit with these values lies, one value per run; None when they cannot tell yet.

    The boundary is halfway between good and bad. A commit is bad when the whole 95 % interval of its effect against
    the good one, or against the bad one, lies beyond it, and good when it lies before it. The second figure is how
    many more runs would probably tell.
    """
    whole = compare("", good, bad).effect or 0.0
    positive = all(value > 0 for value in (*values, *good, *bad))
    found: set[Side] = set()
    more: list[int] = []
    for reference, other, here in ((good, bad, Side.GOOD), (bad, good, Side.BAD)):
        towards = whole if here is Side.GOOD else compare("", bad, good).effect or 0.0
        boundary = expm1(log1p(towards) / 2) if positive else towards / 2
        verdict = compare(
            "",
            reference,
            values,
            min_effect=abs(boundary),
            history=at_level(reference, other),
        )
        if verdict.interval is not None and boundary:
            low, high = (end / boundary for end in verdict.interval)
            nearest, farthest = min(low, high), max(low, high)
            if farthest < 1:
                found.add(here)
            elif nearest > 1:
                found.add(Side.BAD if here is Side.GOOD else Side.GOOD)
        if verdict.judgement is Judgement.UNDECIDED and verdict.more_runs:
            more.append(verdict.more_runs)
    if len(found) == 1:
        return found.pop(), None
    return None, min(more, default=None)


def at_level(reference: Sequence[float], other: Sequence[float]) -> list[float]:
    """The values of both sides, moved to the level of the first: the noise that a single run is judged by."""
    if not reference or not other:
        return [*reference, *other]
    level, own = _median(reference), _median(other)
    positive = all(value > 0 for value in (*reference, *other))
    return [*reference, *(value * (level / own) if positive else value + level - own for value in other)]


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def first_runs(known: int) -> int:
    """Runs that a commit is begun with, when the good and the bad one have ``known`` values together."""
    return 1 if known >= HISTORY else FIRST_RUNS


def next_runs(have: int, more: int | None, most: int) -> int:
    """How many runs a commit should have that ``have`` cannot tell: at most twice as many, and at most ``most``."""
    return min(most, have + max(1, min(more or have, have)))
