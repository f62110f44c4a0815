"""Stage 1 of change detection: the piecewise-constant fit with the least cost and bounded loss, over a grid of levels.

Minimises the sum of min(((x_t - level_t) / sigma_t)^2, bound) + penalty * changes. Bounded loss after Fearnhead &
Rigaill 2019, J. Amer. Statist. Assoc. 114:169-183; levels on a grid make it a Viterbi recursion (Viterbi 1967, IEEE
Trans. Inf. Theory 13:260-269) with one vector operation per point, with the same result for all points at once or one by one.
A single outlier costs at most the bound, which is less than the two changes of a separate segment.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.changes.levels import RUNG

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: Cells (points x levels) of one series that are in memory at once, 32 MB.
BLOCK = 4_000_000


def sweep_one(
    scaled: Floats,
    weights: Floats | None,
    rungs: Floats,
    penalty: float,
    bound: float,
    *,
    before: tuple[Floats, float] | None = None,
) -> tuple[Floats, Floats]:
    """The least cost of ending at each level after each point, and the cost of changing after it.

    ``scaled`` has shape (points,) in sigmas, ``weights`` (1 / variance in sigmas squared) the same; ``before`` is
    the last row and the last limit of the preceding points. Returns shapes (points, levels) and (points,).
    """
    table = rungs * RUNG - scaled[:, None]
    table *= table
    if weights is not None:
        table *= weights[:, None]
    np.minimum(table, bound, out=table)
    stay = np.empty(len(rungs))
    minimum, add = np.minimum, np.add
    last, limit = before or (np.zeros(len(rungs)), 0.0)
    limits = []
    for row in table:
        minimum(last, limit, out=stay)
        add(row, stay, out=row)
        limit = float(row[row.argmin()]) + penalty
        limits.append(limit)
        last = row
    return table, np.asarray(limits)


@dataclass(frozen=True, slots=True)
class RecursionState:
    """The state of the recursion after the last point."""

    #: Start of the last segment of the cheapest history after every point.
    origins: list[int]
    #: Least cost of ending at each level, and where the last segment of that history starts.
    cost: Floats
    starts: Ints
    #: Cost of changing after the last point.
    limit: float


def sweep_through(
    scaled: Floats, weights: Floats | None, rungs: Floats, penalty: float, bound: float
) -> RecursionState:
    """``sweep_one`` in blocks, with bounded memory for any number of points and levels."""
    points, levels = len(scaled), len(rungs)
    block = max(1, BLOCK // levels)
    cost, starts, limit = np.zeros(levels), np.zeros(levels, dtype=np.int32), 0.0
    origins: list[int] = []
    for first in range(0, points, block):
        part = slice(first, first + block)
        own = None if weights is None else weights[part]
        table, limits = sweep_one(scaled[part], own, rungs, penalty, bound, before=(cost, limit))
        entries = np.empty(table.shape, dtype=np.int32)
        entries[0] = np.where(cost > limit, first, starts)
        places = np.arange(first + 1, first + len(table), dtype=np.int32)[:, None]
        np.multiply(table[:-1] > limits[:-1, None], places, out=entries[1:])
        np.maximum.accumulate(entries, axis=0, out=entries)
        origins += entries[np.arange(len(table)), table.argmin(axis=1)].tolist()
        cost, starts, limit = table[-1].copy(), entries[-1].copy(), float(limits[-1])
    return RecursionState(origins, cost, starts, limit)


def chain(origins: list[int]) -> list[int]:
    """The changes of the cheapest history, equal to those of ``trace``."""
    changes = []
    start = origins[-1]
    while start > 0:
        changes.append(start)
        start = origins[start - 1]
    return changes[::-1]


def sweep_many(
    scaled: Floats, weights: Floats | None, rungs: Floats, penalty: Floats, bound: Floats
) -> tuple[Floats, Floats]:
    """``sweep_one`` for many series at once; inputs have shapes (series, points), (series, levels) and (series,).

    Returns shapes (points, series, levels) and (points, series, 1).
    """
    table = rungs * RUNG - scaled.T[:, :, None]
    table *= table
    if weights is not None:
        table *= weights.T[:, :, None]
    np.minimum(table, bound[:, None], out=table)
    limits = np.empty((*scaled.T.shape, 1))
    stay, least, penalty = np.empty(rungs.shape), np.empty((len(rungs), 1)), penalty[:, None]
    before, limit = table[0], limits[0]
    np.add(before.min(axis=1, keepdims=True), penalty, out=limit)
    for row, own_limit in zip(table[1:], limits[1:], strict=True):
        np.minimum(before, limit, out=stay)
        np.add(row, stay, out=row)
        np.minimum.reduce(row, axis=1, keepdims=True, out=least)
        np.add(least, penalty, out=own_limit)
        before, limit = row, own_limit
    return table, limits


def trace(table: Floats, limits: Floats) -> list[int]:
    """The changes of the cheapest history of one series: first points of new levels, ascending."""
    changes: list[int] = []
    end = len(table) - 1
    while True:
        level = int(table[end].argmin())
        entered = (table[:end, level] > limits[:end]).nonzero()[0]
        if not len(entered):
            return changes[::-1]
        end = int(entered[-1])
        changes.append(end + 1)
