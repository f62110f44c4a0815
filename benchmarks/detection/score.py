"""Hits, misses and false alarms."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: A report within so many points of a shift has found it.
TOLERANCE = 5


@dataclass(frozen=True)
class Tally:
    hits: int = 0
    false: int = 0
    missed: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.hits + other.hits, self.false + other.false, self.missed + other.missed)

    @property
    def f1(self) -> float:
        whole = 2 * self.hits + self.false + self.missed
        return 2 * self.hits / whole if whole else 1.0

    @property
    def precision(self) -> float:
        return self.hits / (self.hits + self.false) if self.hits + self.false else 1.0

    @property
    def recall(self) -> float:
        return self.hits / (self.hits + self.missed) if self.hits + self.missed else 1.0


def tally(found: Iterable[int], sure: Sequence[int], maybe: Sequence[int] = ()) -> Tally:
    """One to one, nearest pairs first; a report near a ``maybe`` is neither rewarded nor punished."""
    found = sorted(found)
    pairs = sorted((abs(a - b), a, b) for a in found for b in sure if abs(a - b) <= TOLERANCE)
    used: set[int] = set()
    hit: set[int] = set()
    for _, a, b in pairs:
        if a not in used and b not in hit:
            used.add(a)
            hit.add(b)
    false = [a for a in found if a not in used and all(abs(a - b) > TOLERANCE for b in maybe)]
    return Tally(len(hit), len(false), len(sure) - len(hit))


def total(tallies: Iterable[Tally]) -> Tally:
    return sum(tallies, Tally())
