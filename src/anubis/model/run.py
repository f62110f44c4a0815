"""The one thing that moves: the run, and what is decided about it."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from anubis.model.alert import Alert
from anubis.model.cause import Cause
from anubis.model.descriptor import Descriptor
from anubis.model.points import Point, SampleBlock
from anubis.model.status import Status


class Seen(StrEnum):
    """What an engine sees of a placement. LOST is not ENDED; unknown is not gone."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """An engine's handle on what it placed: enough to find it again from any process."""

    engine: str
    #: Unique among the engine's placements: made from run id and attempt.
    name: str
    #: What the engine needs to find it again (folder, job id, host); JSON values.
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One look at one placement."""

    seen: Seen
    #: Exit code of the benchmark; None while it has none.
    exit_code: int | None = None
    #: In the engine's own words.
    reason: str = ""
    #: None: nothing went wrong so far.
    cause: Cause | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened, kept for ever. Timeline, audit trail and outbox are these rows."""

    run_id: str
    #: submitted, placed, running, ended, final, cancel_requested, note, ...
    kind: str
    #: UTC, seconds since 1970.
    time_s: float
    message: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    #: Who caused it: a client id, or empty for Anubis itself.
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
    #: Not looked at before this time; UTC seconds.
    due_s: float
    #: Runs that belong together share it (a sweep, rounds of a comparison); None: alone.
    family_id: str | None = None
    #: The run that caused this one (a schedule, a confirmation).
    parent_id: str | None = None
    #: Counts placements, from 1.
    attempt: int = 1
    placement: Placement | None = None
    #: Latest one-line explanation of the status.
    reason: str = ""
    cause: Cause | None = None
    #: When the benchmark was placed, when the run became final; UTC seconds.
    placed_s: float | None = None
    ended_s: float | None = None
    #: Cancellation was asked for; the next step of whoever holds the run obeys.
    cancel_requested: bool = False
    #: Working folder on the submitting machine.
    folder: str | None = None
    #: What orders its points in a series: the corrected commit date of its subject (a commit is never older than
    #: its parents); UTC seconds. None: the time of submission.
    order_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a stage decided. Applied in one transaction, or not at all."""

    status: Status
    #: Seconds until the run is looked at again.
    again_after_s: float = 0.0
    events: tuple[Event, ...] = ()
    points: tuple[Point, ...] = ()
    samples: tuple[SampleBlock, ...] = ()
    #: Alerts as they are from now on.
    alerts: tuple[Alert, ...] = ()
    #: Further runs that this step orders, with the texts of their descriptors. Their ids derive from this run's, and
    #: they are added just before the step is applied: a crash in between adds them once.
    spawned: tuple[tuple[Run, str], ...] = ()
    placement: Placement | None = None
    reason: str = ""
    cause: Cause | None = None
    #: A new attempt begins with this step; placement, points and samples of the old one are dropped.
    next_attempt: bool = False


def stepped(run: Run, step: Step, *, now_s: float) -> Run:
    """The run as it is once the step was applied: what every store writes.

    A cause is kept until the run succeeds or a new attempt begins; a new attempt forgets the old placement.
    """
    anew = step.next_attempt
    placement = step.placement or (None if anew else run.placement)
    known_s = None if anew else run.placed_s
    forgiven = anew or step.status is Status.SUCCEEDED
    return replace(
        run,
        status=step.status,
        due_s=now_s + step.again_after_s,
        attempt=run.attempt + 1 if anew else run.attempt,
        placement=placement,
        placed_s=now_s if placement and known_s is None else known_s,
        ended_s=now_s if step.status.final else None,
        reason=step.reason or (run.reason if step.status is run.status else ""),
        cause=step.cause or (None if forgiven else run.cause),
    )
