"""Series of comparable points over time, and verdicts about them."""

from dataclasses import dataclass
from enum import StrEnum

from anubis.model.verdict import Judgement


class Sensitivity(StrEnum):
    """The confidence that is required to confirm a change."""

    QUIET = "quiet"
    NORMAL = "normal"
    SENSITIVE = "sensitive"


class ChangeState(StrEnum):
    """The state of a change. SUSPECTED may order confirming runs and raises no alert; CONFIRMED is significant."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"


class ChangeKind(StrEnum):
    """A STEP lies between two points; a DRIFT is one of several small changes in one direction."""

    STEP = "step"
    DRIFT = "drift"


class InstabilityKind(StrEnum):
    """Why a series has no stable level."""

    #: A few levels that return.
    MODES = "modes"
    #: A wave with a constant period.
    CYCLE = "cycle"
    #: Neighbouring points are alike, but no level lasts.
    WANDERING = "wandering"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One of the levels between which a series alternates."""

    #: In the metric's unit.
    level: float
    #: Share of the points that are nearest to this level.
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Instability:
    """The description of a series without a stable level."""

    kind: InstabilityKind
    #: The modes, ascending; empty for the other kinds.
    modes: tuple[Mode, ...] = ()
    #: Length of the cycle in points; None for the other kinds.
    period: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric of one benchmark on one kind of machine, in subject order (commit time, else run time)."""

    #: One value per run, in ``units``.
    values: tuple[float, ...]
    #: Standard error of each value from its repeats, in ``units``, 0 if unknown; empty: all unknown.
    errors: tuple[float, ...] = ()
    #: Commit or version of each value; empty: unknown.
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
    #: 95 % confidence interval of the index of the first point of the new level.
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
    #: Medians of the points before and after, in the metric's unit, and the numbers of these points.
    before: float
    after: float
    n_before: int
    n_after: int
    #: Local standard deviation of one point around its level, as a ratio.
    noise_floor: float
    #: Smallest effect that these numbers of points confirm with 80 % power, as a ratio.
    detectable: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesVerdict:
    """The current verdict about a series."""

    #: Number of points judged.
    n: int
    #: Confirmed changes, oldest first.
    changes: tuple[ChangePoint, ...]
    #: Change at the newest points, which lie outside the prediction interval but are too few for confirmation.
    suspected: ChangePoint | None
    #: Median of the current level, in the metric's unit; None without points.
    level: float | None
    #: 99 % prediction interval for further points of the current level, in the metric's unit; None with fewer than 6 points.
    expected: tuple[float, float] | None
    #: Standard deviation of one point around its level, as a ratio; None with fewer than 6 points.
    noise_floor: float | None
    #: Smallest shift that ten more points confirm with 80 % power, as a ratio; None with fewer than 6 points.
    detectable: float | None
    #: Why the newest points have no stable level: then they contain no changes and are not suspect. None: they have one.
    instability: Instability | None = None
