"""Stage 1 of change detection: the piecewise-constant fit that costs least, with bounded loss, over a grid of levels.

Minimises the sum of min(((x_t - level_t) / sigma_t)^2, bound) + penalty * changes. Bounded loss after Fearnhead &
Rigaill 2019, J. Amer. Statist. Assoc. 114:169-183; levels on a grid make it a Viterbi recursion (Viterbi 1967, IEEE
Trans. Inf. Theory 13:260-269) with one vector operation per point, the same whether points come at once or one by one.
A lone outlier costs at most the bound, which is less than the two changes a segment of its own would cost.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.noise import NoiseModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: Distance of two levels in sigmas; a quarter costs more and finds no more, stage 2 measures the levels anyway.
RUNG = 0.4
#: Penalty per change at length n: PENALTY[0] * log n + PENALTY[1]; low enough to offer a few candidates too many.
PENALTY = (1.5, 2.0)
#: Bounds of the loss of one point, in sigmas squared.
BOUNDS = (7.0, 10.0)
#: Autocorrelation up to this is taken for chance.
RHO_SLACK = 0.1
#: Cells (points x series x levels) that are worked on together, to stay inside the processor's cache.
CELLS = 800_000


@dataclass(frozen=True, slots=True)
class Costs:
    """The constants of the fit, one per series."""

    penalty: Floats
    bound: Floats


def costs_of(noise: NoiseModel, length: int) -> Costs:
    """Penalty and bound for this noise.

    The penalty grows with the autocorrelation (Romano et al. 2022, J. Amer. Statist. Assoc. 117:2147-2162), the
    bound shrinks with the share of outliers: it is what a point of a wide second component loses by belonging.
    """
    rho = np.maximum(noise.rho - RHO_SLACK, 0.0)
    penalty = (PENALTY[0] * math.log(length) + PENALTY[1]) * (1 + rho) / (1 - rho)
    bound = np.clip(2 * np.log((1 - noise.outliers) / noise.outliers) + 1, *BOUNDS)
    return Costs(penalty, bound)


def rungs_for(scaled: Floats, reach: Floats | float) -> Floats:
    """Levels, as whole numbers of rungs, within ``reach`` (in sigmas) of a point, ascending.

    At any other level every point costs the bound, so a level that is missing costs what changing costs.
    """
    low = np.ceil((scaled - reach) / RUNG)
    high = np.floor((scaled + reach) / RUNG)
    order = np.argsort(low)
    low, high = low[order], np.maximum.accumulate(high[order])
    gaps = np.flatnonzero(low[1:] > high[:-1] + 1)
    firsts, lasts = [low[0], *low[gaps + 1]], [*high[gaps], high[-1]]
    return np.concatenate([np.arange(a, b + 1) for a, b in zip(firsts, lasts, strict=True)])


def _ladders(scaled: Floats, reach: Floats) -> list[Floats]:
    """Rungs for each series, only between the extremes of its points: no other level is ever the best one."""
    ordered = np.sort(scaled, axis=1)
    gapless = (np.diff(ordered, axis=1) <= 2 * reach.min(axis=1, keepdims=True)).all(axis=1)
    first, last = np.floor(ordered[:, 0] / RUNG), np.ceil(ordered[:, -1] / RUNG)
    ladders = []
    for at in range(len(scaled)):
        if gapless[at]:
            ladders.append(np.arange(first[at], last[at] + 1))
            continue
        rungs = rungs_for(scaled[at], reach[at])
        ladders.append(rungs[(rungs >= first[at]) & (rungs <= last[at])])
    return ladders


def sweep_one(
    scaled: Floats, weights: Floats | None, rungs: Floats, penalty: float, bound: float
) -> tuple[Floats, Floats]:
    """Least cost of ending at each level after each point, and the cost of changing after it.

    ``scaled`` has shape (points,) in sigmas, ``weights`` (1 / variance in sigmas squared) the same. Returns
    shapes (points, levels) and (points,).
    """
    table = rungs * RUNG - scaled[:, None]
    table *= table
    if weights is not None:
        table *= weights[:, None]
    np.minimum(table, bound, out=table)
    stay = np.empty(len(rungs))
    minimum, add = np.minimum, np.add
    before = table[0]
    limit = float(before[before.argmin()]) + penalty
    limits = [limit]
    for row in table[1:]:
        minimum(before, limit, out=stay)
        add(row, stay, out=row)
        limit = float(row[row.argmin()]) + penalty
        limits.append(limit)
        before = row
    return table, np.asarray(limits)


def sweep_many(
    scaled: Floats, weights: Floats | None, rungs: Floats, penalty: Floats, bound: Floats
) -> tuple[Floats, Floats]:
    """``sweep_one`` over many series at once: (series, points), (series, levels) and (series,) go in.

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


def trace(table: Floats, limits: Floats, fewest: int) -> list[int]:
    """Where the cheapest history of one series changes: first points of new levels, ascending.

    Without those that have fewer than ``fewest`` points before or after them in the whole series.
    """
    changes: list[int] = []
    end = len(table) - 1
    while True:
        level = int(table[end].argmin())
        entered = (table[:end, level] > limits[:end]).nonzero()[0]
        if not len(entered):
            break
        end = int(entered[-1])
        changes.append(end + 1)
    return [at for at in reversed(changes) if fewest <= at <= len(table) - fewest]


def fit(scaled: Floats, deviations: Floats | None, costs: Costs, fewest: int = 3) -> list[list[int]]:
    """Candidates of many series of equal length, each a list of first points of new levels.

    ``scaled`` has shape (series, points) in sigmas; ``deviations``, where repeats are known, the standard
    deviation of each point in the same unit.
    """
    weights = None if deviations is None else 1 / (deviations * deviations)
    reach = np.sqrt(costs.bound)[:, None] * (1.0 if deviations is None else deviations)
    reach = np.broadcast_to(reach, scaled.shape)
    ladders = _ladders(scaled, reach)
    found: list[list[int]] = [[] for _ in ladders]
    for group in _groups([len(rungs) for rungs in ladders], scaled.shape[1]):
        if len(group) == 1:
            at = group[0]
            own = None if weights is None else weights[at]
            table, limits = sweep_one(
                scaled[at], own, ladders[at], float(costs.penalty[at]), float(costs.bound[at])
            )
            found[at] = trace(table, limits, fewest)
            continue
        padded = np.empty((len(group), max(len(ladders[at]) for at in group)))
        for row, at in zip(padded, group, strict=True):
            row[: len(ladders[at])] = ladders[at]
            row[len(ladders[at]) :] = ladders[at][-1]
        own = None if weights is None else weights[group]
        tables, many_limits = sweep_many(scaled[group], own, padded, costs.penalty[group], costs.bound[group])
        for column, at in enumerate(group):
            found[at] = trace(tables[:, column], many_limits[:, column, 0], fewest)
    return found


def _groups(sizes: list[int], points: int) -> list[list[int]]:
    """Series of similar grid size together, as many as fit the cache."""
    groups: list[list[int]] = []
    group: list[int] = []
    for at in sorted(range(len(sizes)), key=sizes.__getitem__):
        if group and ((len(group) + 1) * sizes[at] * points > CELLS or sizes[at] > 1.5 * sizes[group[0]]):
            groups.append(group)
            group = []
        group.append(at)
    return [*groups, group] if group else groups
