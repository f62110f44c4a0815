"""Successive halving: which combinations of a sweep are measured further (Jamieson and Talwalkar 2016).

The values of one axis are the rungs. After a rung the combinations are ranked, and only a share of them is measured on the next rung.
The result depends only on the values that are stored, so any process finds the same at any time.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from anubis.describe.matrix.axes import SEED_AXIS
from anubis.model.descriptor import Halving
from anubis.model.metric import Better

#: Values of the other axes, as text.
Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What is known about a cell."""

    #: The cell has ended: it will have no other value.
    final: bool
    #: Value of the metric; None: not measured.
    value: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Why a combination is not measured further."""

    #: Number of the rung after which it was cut, from 1, and the value of its axis.
    rung: int
    at: Any
    #: Its rank among the combinations of the rung, from 1; None: it has no value.
    rank: int | None
    #: Number of combinations that were ranked, and of those that remain.
    ranked: int
    kept: int
    #: Its score, and the worst score that remains.
    score: float | None
    limit: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rungs:
    """The state of successive halving."""

    #: Positions of the cells that may be measured now, or were.
    allowed: frozenset[int]
    #: Position -> the reason, of cells that are not measured.
    cut: Mapping[int, Cut]
    #: Every combination that remains has ended its last rung.
    over: bool


def halve(
    cells: Sequence[Mapping[str, Any]], measured: Mapping[int, Measured], rule: Halving, better: Better
) -> Rungs:
    """Apply the rule to the cells of a sweep; ``measured`` is by the position of the cell.

    A cell without a value on the axis of the rungs is always measured.
    """
    along = rule.along or SEED_AXIS
    steps = list(dict.fromkeys(values[along] for values in cells if along in values))
    places: dict[Key, dict[int, int]] = {}
    allowed = {position for position, values in enumerate(cells) if along not in values}
    for position, values in enumerate(cells):
        if along in values:
            rest = tuple((axis, str(value)) for axis, value in values.items() if axis != along)
            places.setdefault(rest, {})[steps.index(values[along])] = position
    alive = list(places)
    cut: dict[int, Cut] = {}
    for rung, at in enumerate(steps):
        here = [places[key][rung] for key in alive if rung in places[key]]
        allowed.update(here)
        if not all(position in measured and measured[position].final for position in here):
            return Rungs(allowed=frozenset(allowed), cut=cut, over=False)
        if rung == len(steps) - 1:
            break
        first = 0 if along == SEED_AXIS else rung
        scores = {key: _score(places[key], measured, first, rung) for key in alive}
        lost = _lost(scores, rule.keep, better)
        for key, (rank, limit, kept) in lost.items():
            reason = Cut(
                rung=rung + 1, at=at, rank=rank, ranked=len(alive), kept=kept, score=scores[key], limit=limit
            )
            cut.update({position: reason for later, position in places[key].items() if later > rung})
        alive = [key for key in alive if key not in lost]
    return Rungs(allowed=frozenset(allowed), cut=cut, over=True)


def _score(
    places: Mapping[int, int], measured: Mapping[int, Measured], first: int, last: int
) -> float | None:
    """Mean over these rungs; None without a value in any rung that has a cell."""
    cells = [measured[places[rung]] for rung in range(first, last + 1) if rung in places]
    values = [cell.value for cell in cells if cell.value is not None and not math.isnan(cell.value)]
    return fmean(values) if values else None


def _lost(
    scores: Mapping[Key, float | None], keep: float, better: Better
) -> dict[Key, tuple[int | None, float | None, int]]:
    """The combinations that are cut: rank, worst score that remains, number that remain. Equal scores remain together."""
    known = {key: score for key, score in scores.items() if score is not None}
    ordered = sorted(known.values(), reverse=better is Better.HIGHER)
    # The tolerance keeps a third of three at one.
    count = max(1, math.ceil(len(scores) * keep - 1e-9))
    limit = ordered[min(count, len(ordered)) - 1] if ordered else None
    remain = {
        key
        for key, score in known.items()
        if limit is not None and (score >= limit if better is Better.HIGHER else score <= limit)
    }
    return {
        key: (None if score is None else ordered.index(score) + 1, limit, len(remain))
        for key, score in scores.items()
        if key not in remain
    }
