"""The run, its placement, and the steps that change it."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.alert import Alert
from anubis.model.cause import Cause
from anubis.model.delivery import Delivery
from anubis.model.descriptor import Descriptor
from anubis.model.hardware import Cost
from anubis.model.points import Period, Point, SampleBlock
from anubis.model.status import Phase, Status

#: A run is due again at most this long after its last step, seconds. A later time in the database was written before
#: the wall clock was set back, and does not count.
LONGEST_PAUSE_S = 300.0
#: Kinds of events about the values of a run: a crossed bound of the descriptor, values that were not recorded.
CROSSED_EVENT, REJECTED_EVENT = "threshold", "rejected"
#: Kind of the event about a condition of the descriptor (``[measure]``) that did not apply.
MISSING_EVENT = "condition"
#: Kinds of events about a warm-up of automatic length: it has reached a steady state, or it has not.
WARM_EVENT, NOT_STEADY_EVENT = "warmed_up", "no_steady_state"
#: Kind of the event about the datasets of a run; its data are the list ``sources``.
FETCHED_EVENT = "fetched"
#: Kind of the request to cancel a run; a limit that requests it adds its ``cause`` to the data.
CANCEL_EVENT = "cancel_requested"


class Seen(StrEnum):
    """The state of a placement as the engine reports it. LOST is not ENDED; unknown is not LOST."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The handle of an engine for one placement; any process can find the placement with it."""

    engine: str
    #: Unique among the placements of the engine: derived from run id and attempt.
    name: str
    #: Data that the engine needs to find the placement (folder, job id, host); JSON values.
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The observed state of one placement."""

    seen: Seen
    #: Exit code of the benchmark; None before it has one.
    exit_code: int | None = None
    #: Reason as the engine reports it.
    reason: str = ""
    #: Cause of a failure; None: no failure.
    cause: Cause | None = None
    #: Seconds that the placement waited in the queue of the engine before its agent started; None: it has no queue.
    queued_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An append-only record of something that happened to a run; timeline and audit trail consist of events."""

    run_id: str
    #: submitted, placed, running, ended, final, cancel_requested, threshold, rejected, note, ...
    kind: str
    #: UTC, seconds since 1970.
    time_s: float
    message: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    #: Client id of the actor; empty for Anubis itself.
    actor: str = ""
    #: Position in the order of all events; None until stored.
    seq: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution of one descriptor."""

    #: UUID version 7. Users of the old system call it action id.
    id: str
    descriptor: Descriptor
    #: SHA-256 of the canonical descriptor.
    digest: str
    series_key: str
    #: Client id of who submitted it.
    owner: str
    engine: str
    status: Status
    #: UTC, seconds since 1970.
    created_s: float
    #: Time of the next step; UTC seconds.
    due_s: float
    #: Common id of runs that belong together (a sweep, rounds of a comparison); None: a single run.
    family_id: str | None = None
    #: The run that caused this one (a schedule, a confirmation).
    parent_id: str | None = None
    #: Number of the placement, from 1.
    attempt: int = 1
    placement: Placement | None = None
    #: Latest one-line explanation of the status.
    reason: str = ""
    cause: Cause | None = None
    #: When the benchmark was placed, when the run became final; UTC seconds.
    placed_s: float | None = None
    ended_s: float | None = None
    #: Cancellation was requested; the driver of the run applies it at its next step.
    cancel_requested: bool = False
    #: Working folder on the submitting machine.
    folder: str | None = None
    #: Position of its points in a series: the corrected commit date of the subject (never before its parents); UTC
    #: seconds. None: the time of submission.
    order_s: float | None = None
    #: What distinguishes it in its family: file, axis values, round, in the order in which they are shown.
    cell: dict[str, Any] = field(default_factory=dict)
    #: Values of ``--set`` that replaced those of the descriptor file: dotted path -> text.
    overrides: dict[str, str] = field(default_factory=dict)
    #: Set while its status is fetch, place or watch, except before its first step.
    phase: Phase | None = None
    #: When the phase began, UTC seconds; None: with the submission.
    phase_s: float | None = None
    #: Cost of all attempts that have ended; None: none has.
    cost: Cost | None = None
    #: Name of the project that it belongs to.
    project: str = DEFAULT_PROJECT
    #: Ids of the runs that must succeed before this one starts.
    needs: tuple[str, ...] = ()


def finished_period(run: Run, fingerprint: str) -> Period:
    """When and where a run was measured if this is not in its record: from its times and the kind of its machine."""
    start_s = run.created_s if run.placed_s is None else run.placed_s
    return Period(machine=fingerprint, start_s=start_s, end_s=max(start_s, run.ended_s or start_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The decision of a stage, applied in one transaction or not at all."""

    status: Status
    #: Seconds until the next step of the run, at most ``LONGEST_PAUSE_S``.
    again_after_s: float = 0.0
    events: tuple[Event, ...] = ()
    points: tuple[Point, ...] = ()
    #: When and where the points were measured; None: the run was not measured in this step.
    period: Period | None = None
    samples: tuple[SampleBlock, ...] = ()
    #: New states of alerts.
    alerts: tuple[Alert, ...] = ()
    #: Deliveries of these alerts to add to the outbox.
    deliveries: tuple[Delivery, ...] = ()
    #: Further runs that this step submits, with the texts of their descriptors. They are added before the step is
    #: applied; their ids derive from the id of this run, so that a crash in between does not add them twice.
    spawned: tuple[tuple[Run, str], ...] = ()
    placement: Placement | None = None
    reason: str = ""
    cause: Cause | None = None
    #: A phase that begins with this step; None: that of the status.
    phase: Phase | None = None
    #: Cost of the attempt that this step ends; None: it ends none.
    cost: Cost | None = None
    #: Bytes of the record, with a final status; None: unknown.
    record_bytes: int | None = None
    #: A new attempt begins with this step; placement, points and samples of the old attempt are dropped.
    next_attempt: bool = False


def began_s(run: Run) -> float:
    """When the phase of the run began, UTC seconds."""
    return run.phase_s or run.placed_s or run.created_s


def phase_of(run: Run) -> Phase | None:
    """What the run waits for."""
    return run.phase or _PHASES.get(run.status)


def longest_lease_s(lease_s: float) -> float:
    """The longest rest of a lease that counts, for drivers whose leases last ``lease_s``; see ``LONGEST_PAUSE_S``."""
    return max(LONGEST_PAUSE_S, 2 * lease_s)


def stepped(run: Run, step: Step, *, now_s: float) -> Run:
    """The run after the step, as every store writes it.

    A cause is kept until the record is collected, which decides it, or a new attempt begins; a new attempt drops the old
    placement.
    """
    is_new = step.next_attempt
    placement = step.placement or (None if is_new else run.placement)
    placed_s = None if is_new else run.placed_s
    is_collected = run.status is Status.COLLECT and step.status is Status.ANALYSE
    clears_cause = is_new or is_collected or step.status is Status.SUCCEEDED
    phase = step.phase or (
        run.phase if step.status is run.status and not is_new else _PHASES.get(step.status)
    )
    begins = phase is not run.phase or step.status is not run.status or is_new
    pause_s = step.again_after_s if is_new else 0.0
    return replace(
        run,
        status=step.status,
        due_s=now_s + min(step.again_after_s, LONGEST_PAUSE_S),
        attempt=run.attempt + 1 if is_new else run.attempt,
        placement=placement,
        placed_s=now_s if placement and placed_s is None else placed_s,
        ended_s=now_s if step.status.final else None,
        reason=step.reason or (run.reason if step.status is run.status else ""),
        cause=step.cause or (None if clears_cause else run.cause),
        phase=phase,
        phase_s=now_s + pause_s if begins else run.phase_s,
        cost=run.cost if step.cost is None else _plus(run.cost, step.cost),
    )


#: The phase in which a run is when it enters a status.
_PHASES = {Status.FETCH: Phase.FETCH, Status.PLACE: Phase.QUEUE, Status.WATCH: Phase.RUN}


def _plus(before: Cost | None, added: Cost) -> Cost:
    return added if before is None else before.plus(added)
