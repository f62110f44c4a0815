"""Comparable points over time, and what is said about them."""

from dataclasses import dataclass
from enum import StrEnum

from anubis.model.verdict import Judgement


class Sensitivity(StrEnum):
    """How sure a change must be before it is confirmed."""

    QUIET = "quiet"
    NORMAL = "normal"
    SENSITIVE = "sensitive"


class ChangeState(StrEnum):
    """SUSPECTED tells nobody; it may order confirming runs. CONFIRMED is evidence enough."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"


class ChangeKind(StrEnum):
    """A STEP happened between two points; a DRIFT is one of several small changes in one direction."""

    STEP = "step"
    DRIFT = "drift"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric of one benchmark on one kind of machine, in subject order (commit time, else run time)."""

    #: One value per run, in ``units``.
    values: tuple[float, ...]
    #: Standard error of each value from its own repeats, in ``units``, 0 where unknown; empty: none is known.
    errors: tuple[float, ...] = ()
    #: Commit or version behind each value; empty: not known.
    subjects: tuple[str, ...] = ()
    metric: str = ""
    units: str = "none"
    #: "higher", "lower" or "none".
    better: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """One change of level. Ratios are relative to the level before: -0.044 is 4.4 % lower."""

    #: First point of the new level.
    index: int
    #: The first point of the new level lies between these with 95 % confidence.
    earliest: int
    latest: int
    state: ChangeState
    kind: ChangeKind
    #: Regressed, improved, or changed where the metric has no direction.
    judgement: Judgement
    effect: float
    #: 95 % interval of the effect.
    interval: tuple[float, float]
    #: Size in standard errors.
    z: float
    #: Medians of the points looked at before and after, in the metric's unit, and how many they are.
    before: float
    after: float
    n_before: int
    n_after: int
    #: Standard deviation of one point around its level there, as a ratio.
    noise_floor: float
    #: Smallest effect that these numbers of points confirm four times in five, as a ratio.
    detectable: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesVerdict:
    """What a series says now."""

    #: Points judged.
    n: int
    #: Confirmed changes, oldest first.
    changes: tuple[ChangePoint, ...]
    #: The newest points lie outside what the current level predicts, and are too few to be sure.
    suspected: ChangePoint | None
    #: Median of the current level, in the metric's unit; None without points.
    level: float | None
    #: Where 99 % of further points of the current level lie, in the metric's unit; None with fewer than 6 points.
    expected: tuple[float, float] | None
    #: Standard deviation of one point around its level, as a ratio; None with fewer than 6 points.
    noise_floor: float | None
    #: Smallest shift that ten more points confirm four times in five, as a ratio; None with fewer than 6 points.
    detectable: float | None
