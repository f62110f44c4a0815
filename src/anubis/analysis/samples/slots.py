"""The effect of the slot in a round: what runs second finds another state of the machine than what runs first.

A round has two slots, and the sides change places from round to round. The difference of a round is then the change
between the sides, plus or minus the effect of the slot (Hills & Armitage 1979, Br. J. Clin. Pharmacol. 8:7-20).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from anubis.analysis.samples.sessions import student
from anubis.analysis.samples.spread import mean

#: Minimum number of pairs, in total and with each order, for an estimate.
FEWEST_PAIRS, FEWEST_OF_AN_ORDER = 6, 2
#: Two-sided p at which the effect counts. In a balanced order a smaller effect does not move the estimate of the change.
LEVEL = 0.01


@dataclass(frozen=True, slots=True)
class Slots:
    """Differences within pairs, contender minus baseline, without the effect of the slot."""

    differences: tuple[float, ...]
    #: Second run of a pair minus the first one; None: there is no significant effect, or it is not known.
    effect: float | None = None


def without_slot(differences: Sequence[float], contender_second: Sequence[bool]) -> Slots:
    """Remove the effect of the slot from these differences if it is significant.

    ``contender_second`` has an entry for each difference; empty: the order is not known. The deviations that remain are
    widened by the degree of freedom that the effect costs, so that their spread is not underestimated.
    """
    unchanged = Slots(tuple(differences))
    sides = (
        ([], []) if len(contender_second) != len(differences) else _by_order(differences, contender_second)
    )
    count = len(differences)
    if count < FEWEST_PAIRS or min(map(len, sides)) < FEWEST_OF_AN_ORDER:
        return unchanged
    first, second = map(mean, sides)
    residuals = [
        value - (second if is_second else first)
        for value, is_second in zip(differences, contender_second, strict=True)
    ]
    variance = math.fsum(residual**2 for residual in residuals) / (count - 2)
    error = math.sqrt(variance * (1 / len(sides[0]) + 1 / len(sides[1])))
    if student(second - first, error, count - 2).p > LEVEL:
        return unchanged
    centre, wider = (first + second) / 2, math.sqrt((count - 1) / (count - 2))
    return Slots(tuple(centre + wider * residual for residual in residuals), (second - first) / 2)


def _by_order(
    differences: Sequence[float], contender_second: Sequence[bool]
) -> tuple[list[float], list[float]]:
    """The differences of the pairs in which the contender was measured first, and second."""
    sides: tuple[list[float], list[float]] = [], []
    for value, is_second in zip(differences, contender_second, strict=True):
        sides[is_second].append(value)
    return sides
