"""Alerts: one for each level shift and subject, over all metrics that it moved."""

from dataclasses import dataclass
from enum import StrEnum


class AlertState(StrEnum):
    """Where an alert stands. Every change of it is an event with who, when and why."""

    #: Outside what the series predicts, or waiting for confirming runs. Tells nobody.
    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    #: Somebody looks after it.
    ACKNOWLEDGED = "acknowledged"
    #: The new level is the baseline from now on.
    ACCEPTED = "accepted"
    #: Not to be told until ``muted_until_s``.
    MUTED = "muted"
    #: The level came back, the evidence did not hold, or its threshold is gone.
    RESOLVED = "resolved"


class AlertKind(StrEnum):
    """What happened; also the words of ``[[notify]] on``."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    #: A level shift of a metric without direction.
    CHANGE = "change"
    #: Consecutive small changes in one direction.
    DRIFT = "drift"
    #: A value beyond a bound of the descriptor.
    THRESHOLD = "threshold"
    #: A run that failed.
    FAILURE = "failure"
    #: A failure or regression that is over.
    RECOVERY = "recovery"


#: Kinds, the gravest first.
SEVERITY_ORDER = (
    AlertKind.FAILURE,
    AlertKind.REGRESSION,
    AlertKind.THRESHOLD,
    AlertKind.DRIFT,
    AlertKind.CHANGE,
    AlertKind.IMPROVEMENT,
    AlertKind.RECOVERY,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRow:
    """One metric that moved."""

    series_key: str
    fingerprint: str
    metric: str
    units: str
    better: str
    kind: AlertKind
    #: New level over old level, minus one.
    effect: float
    #: 95 % interval of the effect; None where none can be given (a threshold).
    interval: tuple[float, float] | None
    #: Median before and after, in the metric's unit.
    before: float
    after: float
    #: Points before and after within the segments that were compared.
    n_before: int
    n_after: int
    #: Relative noise of the series, as a ratio.
    noise_floor: float | None = None
    #: In words, for what a number cannot say (which bound was crossed).
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """What people are told about, once."""

    #: Names the level shift: the same shift found again is the same alert. 16 hex digits.
    id: str
    #: ``info.name`` of the descriptor.
    benchmark: str
    #: The gravest kind among the rows.
    kind: AlertKind
    state: AlertState
    rows: tuple[AlertRow, ...]
    #: Run of the first point of the new level.
    run_id: str
    #: Subject range: the last of the old level, the first of the new one (commit or version; empty when unknown).
    last_old: str
    first_new: str
    #: UTC, seconds since 1970.
    opened_s: float
    changed_s: float
    #: Who changed it last, and why; empty for Anubis itself.
    actor: str = ""
    why: str = ""
    muted_until_s: float | None = None
    #: State that people were last told of; None: they were told nothing yet.
    told: AlertState | None = None
    #: Confirming runs were ordered.
    ordered: bool = False
    #: Repository of the subject, for links; empty when unknown.
    repository: str = ""
