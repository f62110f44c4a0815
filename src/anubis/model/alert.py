"""Alerts: one for each level shift and subject, over all metrics that it moved."""

from dataclasses import dataclass
from enum import StrEnum


class AlertState(StrEnum):
    """The state of an alert. Every change of state is an event with actor, time and reason."""

    #: Outside the prediction interval of the series, or waiting for confirming runs. Not delivered.
    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    #: Someone works on it.
    ACKNOWLEDGED = "acknowledged"
    #: The new level is the baseline from now on.
    ACCEPTED = "accepted"
    #: Not delivered until ``muted_until_s``.
    MUTED = "muted"
    #: The level is restored, the change was not confirmed, or its threshold no longer exists.
    RESOLVED = "resolved"


class AlertKind(StrEnum):
    """The kind of change; also the values of ``[[notify]] on``."""

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
    #: The end of a failure or regression.
    RECOVERY = "recovery"


#: Kinds, the most severe first.
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
    """One changed metric."""

    series_key: str
    fingerprint: str
    metric: str
    units: str
    better: str
    kind: AlertKind
    #: New level over old level, minus one.
    effect: float
    #: 95 % interval of the effect; None if there is none (thresholds).
    interval: tuple[float, float] | None
    #: Median before and after, in the metric's unit.
    before: float
    after: float
    #: Points before and after within the segments that were compared.
    n_before: int
    n_after: int
    #: Relative noise of the series, as a ratio.
    noise_floor: float | None = None
    #: Text for information beyond the numbers, such as the crossed bound.
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One level shift, failure or crossed bound, delivered once per state."""

    #: Identifies the level shift: the same shift, detected again, has the same id. 16 hex digits.
    id: str
    #: ``info.name`` of the descriptor.
    benchmark: str
    #: The most severe kind among the rows.
    kind: AlertKind
    state: AlertState
    rows: tuple[AlertRow, ...]
    #: Run of the first point of the new level.
    run_id: str
    #: Most probable position: the last subject of the old level, the first of the new one (commit or version; empty when
    #: unknown).
    last_old: str
    first_new: str
    #: UTC, seconds since 1970.
    opened_s: float
    changed_s: float
    #: Actor and reason of the last change; empty for Anubis itself.
    actor: str = ""
    why: str = ""
    muted_until_s: float | None = None
    #: The state that was last added to the outbox; None: none was.
    told: AlertState | None = None
    #: Confirming runs were ordered and the decision about them is missing.
    ordered: bool = False
    #: How many rounds of confirming runs were ordered.
    rounds: int = 0
    #: Repository of the subject, for links; empty when unknown.
    repository: str = ""
    #: How often it was stored; 0: never. A store replaces an alert only by one with the version that is stored.
    version: int = 0
    #: Wider range that contains the change with 95 % confidence; empty if it is that of ``last_old`` and ``first_new``.
    earliest_old: str = ""
    latest_new: str = ""
