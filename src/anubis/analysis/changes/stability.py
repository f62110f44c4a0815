"""Series without a stable level: a few modes that return, a cycle, or values that wander."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.changes.backward_elimination import Change
from anubis.analysis.changes.scaling import Scale
from anubis.analysis.changes.windows import FEWEST
from anubis.analysis.samples.spread import MAD_TO_SIGMA, Q90_TO_SIGMA
from anubis.model.series import Instability, InstabilityKind, Mode

Floats = NDArray[np.float64]

#: Newest points that are classified; older ones say little about the present.
WINDOW = 400
#: Minimum number of points of an unstable series.
FEWEST_UNSTABLE = 30
#: A level with this many points that is also this many times as long as every earlier one is stable.
SETTLED_POINTS, SETTLED_TIMES = 40, 2
#: Points are clipped at this many local deviations from their level, so that spikes decide nothing.
CLIP = 4.0
#: Highest lag-1 autocorrelation of noise around a stable level.
MOST_RHO = 0.6
#: A series with few changes, or with a long newest level, is stable if its autocorrelation is at most this.
LEAST_RHO = 0.4
#: Lags of the autoregression that describes a wandering series.
LAGS = 4
#: Number of returns to a mode that are required.
FEWEST_RETURNS = 2
#: Minimum number of periods of a cycle, and its shortest period in points.
FEWEST_PERIODS, SHORTEST_PERIOD = 1.5, 6
#: An unstable series is rare, so its description must be better than steps by this much (twice the log likelihood).
MARGIN = 10.0


@dataclass(frozen=True, slots=True)
class _Description:
    """A description of the points in working units."""

    #: Minus twice the log likelihood, and log n for each parameter.
    cost: float
    #: Typical difference between high and low values.
    swing: float
    instability: Instability


def instability(
    work: Floats, changes: Sequence[Change], scale: Scale, origin: float, min_effect: float
) -> Instability | None:
    """Why the newest points have no stable level; None if steps between levels explain them best.

    ``work`` are the points of one series in working units, ``changes`` all of its significant changes, of any size.
    The descriptions are compared by Schwarz' criterion (1978, Ann. Statist. 6:461-464): steps or a straight line, with
    noise of limited autocorrelation; two or three modes that return; a sine wave; an autoregression without levels.
    A series that moves by less than the minimum effect is stable.
    """
    first = max(0, len(work) - WINDOW)
    places = [at for change in changes if (at := change.at - first) >= FEWEST]
    edges = [0, *places, len(work) - first]
    if edges[-1] < FEWEST_UNSTABLE:
        return None
    points = _clipped(work[first:], edges)
    lengths = np.diff(edges)
    levels = np.array([points[a:b].mean() for a, b in pairwise(edges)])
    residuals = points - np.repeat(levels, lengths)
    is_plain = len(places) <= FEWEST_RETURNS and _lag_1(residuals) <= LEAST_RHO
    if is_plain or _settled(residuals, lengths):
        return None
    floor = 0.01 * float(np.mean(residuals**2)) + 1e-300
    stable = min(
        _around(points, np.repeat(levels, lengths), 2 * len(places) + 1, floor),
        _around(points, _line(points), 2, floor),
    )
    others = [*_modes(points, levels, lengths, floor), _cycle(points, floor), _wandering(points, floor)]
    best = min(others, key=lambda one: one.cost)
    is_better = best.cost < stable - MARGIN and best.swing >= scale.smallest(min_effect)[1]
    return _in_units(best.instability, scale, origin) if is_better else None


def _clipped(work: Floats, edges: Sequence[int]) -> Floats:
    """The points, moved to within CLIP robust deviations of the median of their level."""
    parts = [work[a:b] for a, b in pairwise(edges)]
    medians = np.repeat([float(np.median(part)) for part in parts], np.diff(edges))
    sizes = np.sort(np.abs(work - medians))
    middle, wide = float(sizes[len(sizes) // 2]), float(sizes[9 * len(sizes) // 10])
    limit = CLIP * max(MAD_TO_SIGMA * middle, Q90_TO_SIGMA * wide)
    clipped: Floats = np.clip(work, medians - limit, medians + limit)
    return clipped


def _settled(residuals: Floats, lengths: NDArray[np.int64]) -> bool:
    """Whether the newest level is long, compared with the earlier ones, and does not wander."""
    newest = int(lengths[-1])
    is_long = len(lengths) > 1 and newest >= max(SETTLED_POINTS, SETTLED_TIMES * int(lengths[:-1].max()))
    return is_long and _lag_1(residuals[-newest:]) <= LEAST_RHO


def _lag_1(residuals: Floats) -> float:
    """The lag-1 autocorrelation of residuals with mean 0."""
    power = float(residuals @ residuals)
    return float(residuals[1:] @ residuals[:-1]) / power if power else 0.0


def _in_units(found: Instability, scale: Scale, origin: float) -> Instability:
    """The instability with the levels of its modes in the unit of the metric."""
    modes = tuple(replace(mode, level=scale.value(origin + mode.level)) for mode in found.modes)
    return replace(found, modes=modes)


def _line(points: Floats) -> Floats:
    """A straight line through the points: a drift."""
    places = np.arange(len(points)) - (len(points) - 1) / 2
    line: Floats = points.mean() + places * float(places @ points) / float(places @ places)
    return line


def _around(points: Floats, fitted: Floats, parameters: int, floor: float) -> float:
    """The cost of points around fitted values, with autocorrelation up to MOST_RHO; ``floor`` is the least variance."""
    residuals = points - fitted
    rho = min(max(_lag_1(residuals), 0.0), MOST_RHO)
    innovation = max(float(np.mean((residuals[1:] - rho * residuals[:-1]) ** 2)), floor)
    return len(points) * math.log(innovation) + (parameters + 1) * math.log(len(points))


def _modes(points: Floats, levels: Floats, lengths: NDArray[np.int64], floor: float) -> list[_Description]:
    """Descriptions with two or more levels that segments share; each change then has only a position."""
    order = np.argsort(levels)
    cuts = _best_cuts(levels[order], lengths[order])
    found = []
    for inner in cuts[: max(0, len(levels) - FEWEST_RETURNS - 1)]:
        centres = np.empty(len(levels))
        for group in np.split(order, inner):
            centres[group] = np.average(levels[group], weights=lengths[group])
        own = np.unique(centres)
        nearest = np.abs(points[:, None] - own).argmin(axis=1)
        modes = tuple(
            Mode(level=float(level), share=float(np.mean(nearest == at))) for at, level in enumerate(own)
        )
        cost = _around(points, np.repeat(centres, lengths), len(own) + len(levels) - 1, floor)
        swing = float(own[-1] - own[0])
        found.append(_Description(cost, swing, Instability(kind=InstabilityKind.MODES, modes=modes)))
    return found


def _best_cuts(ordered: Floats, lengths: NDArray[np.int64]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The cuts of ascending levels into two and into three groups with the least sum of squares."""
    count = len(ordered)
    weight, first, second = (
        np.concatenate([[0.0], np.cumsum(lengths * ordered**power)]) for power in range(3)
    )
    start, end = np.arange(count + 1)[:, None], np.arange(count + 1)
    inside = end > start
    total = np.where(inside, weight[end] - weight[start], 1.0)
    spread = second[end] - second[start] - (first[end] - first[start]) ** 2 / total
    cost = np.where(inside, spread, np.inf)
    two = (cost[0] + cost[:, count])[:, None]
    three = cost[0][:, None] + cost + cost[:, count]
    return (int(two.argmin()),), tuple(map(int, np.unravel_index(three.argmin(), three.shape)))


def _cycle(points: Floats, floor: float) -> _Description:
    """A sine wave with the frequency of the highest power."""
    count = len(points)
    size = 1 << (4 * count - 1).bit_length()
    power = np.abs(np.fft.rfft(points - points.mean(), size)) ** 2
    low, high = math.ceil(FEWEST_PERIODS * size / count), size // SHORTEST_PERIOD
    frequency = (low + int(power[low:high].argmax())) / size
    angles = 2 * np.pi * frequency * np.arange(count)
    waves = np.stack([np.ones(count), np.cos(angles), np.sin(angles)], axis=1)
    fitted = waves @ np.linalg.lstsq(waves, points, rcond=None)[0]
    return _Description(
        _around(points, fitted, 4, floor),
        2 * math.sqrt(2) * float(fitted.std()),
        Instability(kind=InstabilityKind.CYCLE, period=1 / frequency),
    )


def _wandering(points: Floats, floor: float) -> _Description:
    """An autoregression around one mean: no level lasts."""
    count = len(points)
    lagged = np.lib.stride_tricks.sliding_window_view(points, LAGS)[:-1]
    columns = np.concatenate([np.ones((count - LAGS, 1)), lagged], axis=1)
    fitted = columns @ np.linalg.lstsq(columns, points[LAGS:], rcond=None)[0]
    innovation = max(float(np.mean((points[LAGS:] - fitted) ** 2)), floor)
    return _Description(
        count * math.log(innovation) + (LAGS + 2) * math.log(count),
        2 * float(points.std()),
        Instability(kind=InstabilityKind.WANDERING),
    )
