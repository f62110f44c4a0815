"""Stage 1 of change detection: candidate positions of changes, for many series at once."""

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.changes import dynamic_program
from anubis.analysis.changes.levels import RUNG, Costs, rungs_for

Floats = NDArray[np.float64]

#: Cells (points x series x levels) that are processed together, to fit the cache of the processor.
CELLS = 800_000


def fit(scaled: Floats, deviations: Floats | None, costs: Costs, fewest: int = 3) -> list[list[int]]:
    """Candidates of many series of equal length, each a list of first points of new levels.

    ``scaled`` has shape (series, points) in sigmas; ``deviations``, where repeats are known, the standard
    deviation of each point in the same unit. Changes with fewer than ``fewest`` points before or after them in the
    whole series are left out.
    """
    weights = None if deviations is None else 1 / (deviations * deviations)
    reach = np.sqrt(costs.bound)[:, None] * (1.0 if deviations is None else deviations)
    reach = np.broadcast_to(reach, scaled.shape)
    ladders = _ladders(scaled, reach)
    candidates: list[list[int]] = [[] for _ in ladders]
    for group in _groups([len(rungs) for rungs in ladders], scaled.shape[1]):
        of_group = None if weights is None else weights[group]
        constants = Costs(costs.penalty[group], costs.bound[group])
        fitted = _alone if len(group) == 1 else _together
        changes = fitted(scaled[group], of_group, [ladders[at] for at in group], constants)
        for at, positions in zip(group, changes, strict=True):
            candidates[at] = [one for one in positions if fewest <= one <= scaled.shape[1] - fewest]
    return candidates


def _alone(scaled: Floats, weights: Floats | None, ladders: list[Floats], costs: Costs) -> list[list[int]]:
    own = None if weights is None else weights[0]
    penalty, bound = float(costs.penalty[0]), float(costs.bound[0])
    if ladders[0].size * scaled.size > dynamic_program.BLOCK:
        return [
            dynamic_program.chain(
                dynamic_program.sweep_through(scaled[0], own, ladders[0], penalty, bound).origins
            )
        ]
    return [dynamic_program.trace(*dynamic_program.sweep_one(scaled[0], own, ladders[0], penalty, bound))]


def _together(scaled: Floats, weights: Floats | None, ladders: list[Floats], costs: Costs) -> list[list[int]]:
    padded = np.empty((len(ladders), max(rungs.size for rungs in ladders)))
    for row, rungs in zip(padded, ladders, strict=True):
        row[: rungs.size] = rungs
        row[rungs.size :] = rungs[-1]
    tables, limits = dynamic_program.sweep_many(scaled, weights, padded, costs.penalty, costs.bound)
    return [dynamic_program.trace(tables[:, at], limits[:, at, 0]) for at in range(len(ladders))]


def _groups(sizes: list[int], points: int) -> list[list[int]]:
    """Groups of series with similar grid size, as many as fit the cache."""
    groups: list[list[int]] = []
    group: list[int] = []
    for at in sorted(range(len(sizes)), key=sizes.__getitem__):
        if group and ((len(group) + 1) * sizes[at] * points > CELLS or sizes[at] > 1.5 * sizes[group[0]]):
            groups.append(group)
            group = []
        group.append(at)
    return [*groups, group] if group else groups


def _ladders(scaled: Floats, reach: Floats) -> list[Floats]:
    """Rungs for each series, only between the extremes of its points, because the best level is always between them."""
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
