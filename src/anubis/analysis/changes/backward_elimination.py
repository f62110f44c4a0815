"""Stage 2 of change detection: removes weak and small candidates, and moves the others to their best position."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.changes.localization import localize
from anubis.analysis.changes.scores import score
from anubis.analysis.changes.windows import SIDE, Noise, Rows

Floats = NDArray[np.float64]
#: (series, first point of the old side, first point of the new side, end of the new side)
Key = tuple[int, int, int, int]

#: Number of rounds in which the remaining candidates are moved to their best position and judged again.
ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Change:
    """One significant change of level, in working units."""

    #: First point of the new level.
    at: int
    #: First point of the old side and end of the new side that were compared.
    low: int
    high: int
    #: Size in standard errors.
    z: float
    difference: float
    #: Standard error of the difference.
    error: float
    #: Local standard deviation of a typical point.
    deviation: float


class BackwardElimination:
    """Judges the candidates of many series together. Results are cached while the points are unchanged."""

    def __init__(self, work: Floats, noise: Noise) -> None:
        """``work`` has shape (series, points), in working units."""
        self._scores: dict[Key, Change] = {}
        self._places: dict[Key, int] = {}
        self._kept: list[list[int]] = []
        #: Number of points from which on the same candidates may be judged differently.
        self.next_look: float = math.inf
        self.grow(work, noise)

    def grow(self, work: Floats, noise: Noise) -> None:
        """Continue with more points of the same series under the same noise."""
        self._work = work
        self._noise = noise
        self._points = work.shape[1]

    def run(
        self, candidates: Sequence[Sequence[int]], threshold: float, edges: Sequence[tuple[float, float]]
    ) -> list[list[Change]]:
        """The changes of every series, ascending, with z of at least ``threshold``.

        ``edges`` are, for every series, the smallest differences down and up of a large enough change.
        """
        self.next_look = math.inf
        self._kept = [list(one) for one in candidates]
        open_series = [series for series, kept in enumerate(self._kept) if kept]
        for _ in range(ROUNDS):
            self._remove_weak(open_series, threshold, edges)
            open_series = self._move([series for series, kept in enumerate(self._kept) if kept])
        self._remove_weak(open_series, threshold, edges)
        return [
            [self._scores[self._key(series, k)] for k in range(len(kept))]
            for series, kept in enumerate(self._kept)
        ]

    def _key(self, series: int, k: int) -> Key:
        kept = self._kept[series]
        at = kept[k]
        low = max(kept[k - 1] if k else 0, at - SIDE)
        if k + 1 < len(kept):
            return series, low, at, min(kept[k + 1], at + SIDE)
        after, following = _whole(self._points - at)
        self.next_look = min(self.next_look, at + following)
        return series, low, at, at + after

    def _judge(self, keys: list[Key]) -> None:
        fresh = [key for key in keys if key not in self._scores]
        if not fresh:
            return
        found = score(self._work, Rows.of(fresh), self._noise)
        columns = (found.z, found.difference, found.error, found.deviation)
        for key, values in zip(
            fresh, zip(*(column.tolist() for column in columns), strict=True), strict=True
        ):
            self._scores[key] = Change(key[2], key[1], key[3], *values)

    def _remove_weak(
        self, open_series: list[int], threshold: float, edges: Sequence[tuple[float, float]]
    ) -> None:
        """Remove the weakest change and judge its neighbours again, until all remaining changes are strong and large."""
        while open_series:
            keys = {
                series: [self._key(series, k) for k in range(len(self._kept[series]))]
                for series in open_series
            }
            self._judge([key for own in keys.values() for key in own])
            changed = []
            for series, own in keys.items():
                drop = _worst([self._scores[key] for key in own], threshold, edges[series])
                if drop is not None:
                    del self._kept[series][drop]
                    if self._kept[series]:
                        changed.append(series)
            open_series = changed

    def _move(self, open_series: list[int]) -> list[int]:
        """Move every change to its best position, neighbours alternately. Returns the series with moved changes."""
        moved = set()
        for turn in (0, 1):
            spots = [(series, k) for series in open_series for k in range(turn, len(self._kept[series]), 2)]
            keys = [self._key(*spot) for spot in spots]
            fresh = [key for key in keys if key not in self._places]
            if fresh:
                self._places.update(
                    zip(fresh, localize(self._work, Rows.of(fresh), self._noise).tolist(), strict=True)
                )
            for (series, k), key in zip(spots, keys, strict=True):
                if self._places[key] != key[2]:
                    self._kept[series][k] = self._places[key]
                    moved.add(series)
        return sorted(moved)


def _whole(count: int) -> tuple[int, float]:
    """The number of the newest ``count`` points that are used, and the count from which on more are used.

    All of the first 32, then in steps of at most an eighth, up to SIDE, so that a new level is not judged at every point.
    """
    if count >= SIDE:
        return SIDE, math.inf
    step = 1 if count < 32 else 1 << (count.bit_length() - 4)
    whole = count - count % step
    return whole, whole + step


def _worst(changes: list[Change], threshold: float, edges: tuple[float, float]) -> int | None:
    weakest = min(range(len(changes)), key=lambda k: changes[k].z)
    if changes[weakest].z < threshold:
        return weakest
    small = [k for k, change in enumerate(changes) if edges[0] < change.difference < edges[1]]
    return min(small, key=lambda k: abs(changes[k].difference), default=None)
