"""Schedules: descriptors that are submitted at due times, and what happened to each due time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from anubis.model.access.roles import DEFAULT_PROJECT, name_in
from anubis.model.descriptor import Overlap
from anubis.model.run import Event, Run


class CatchUp(StrEnum):
    """Which due times are made up for that passed while no worker was active."""

    NONE = "none"
    #: Only the latest.
    LAST = "last"
    #: The latest ones, up to the limit of the schedule.
    ALL = "all"


class DueState(StrEnum):
    """What happened to a due time."""

    STARTED = "started"
    SKIPPED = "skipped"
    #: It starts when the runs of earlier due times are final.
    QUEUED = "queued"
    #: A later due time took its place in the queue.
    REPLACED = "replaced"
    #: No run could be submitted.
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A descriptor that is submitted at due times. Its runs have its id as their parent."""

    #: UUID of version 7.
    id: str
    #: Unique among the schedules.
    name: str
    #: Cron expression or ``@`` name, time zone and overlap policy of its descriptor.
    scheduling: str
    timezone: str
    overlap: Overlap
    #: Client id of who added it.
    owner: str
    #: When it was added, and when a client last changed it; UTC seconds.
    created_s: float
    changed_s: float
    #: Name of the descriptor file when it was added.
    file: str
    #: Working folder of its runs.
    folder: str | None = None
    #: Object key of the script archive.
    script: str | None = None
    #: See ``Run.overrides``.
    overrides: dict[str, str] = field(default_factory=dict)
    catch_up: CatchUp = CatchUp.LAST
    #: Most due times that are made up for with ``CatchUp.ALL``.
    catch_up_limit: int = 10
    #: Runs start up to this much after their due time, seconds.
    jitter_s: float = 0.0
    #: The schedule is paused after so many failures in a row; 0: never.
    pause_after: int = 0
    #: Failures before this time do not count; UTC seconds.
    failures_since_s: float = 0.0
    #: When it was paused; UTC seconds. None: it is active.
    paused_s: float | None = None
    pause_reason: str = ""
    #: The first due time that has not been decided; UTC seconds. None: never due again.
    next_s: float | None = None
    #: Queued due times, oldest first; UTC seconds.
    queued: tuple[float, ...] = ()
    #: When the next decision is due; UTC seconds. None: never.
    ready_s: float | None = None
    #: Name of the project of its runs.
    project: str = DEFAULT_PROJECT
    #: Counts the changes by clients and schedulers; 0 until stored.
    version: int = 0

    @property
    def full_name(self) -> str:
        """Its name, unique in the installation."""
        return name_in(self.project, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueTime:
    """What happened to a due time, or to several in succession that were skipped together."""

    schedule_id: str
    #: The due time, or the first of several; UTC seconds.
    due_s: float
    state: DueState
    #: When this was decided; UTC seconds.
    noted_s: float
    #: The first of the runs that were submitted; None: no run.
    run_id: str | None = None
    reason: str = ""
    #: How many due times this is about, and the last of them; UTC seconds. None: a single one.
    count: int = 1
    last_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a scheduler or a client decided about a schedule, written in one transaction or not at all.

    A due time that was decided already is not changed, unless it is queued. If one of ``due_times`` with a run was decided
    already, the runs are dropped.
    """

    after: Schedule
    due_times: tuple[DueTime, ...] = ()
    #: New runs with the texts of their descriptors.
    runs: tuple[tuple[Run, str], ...] = ()
    events: tuple[Event, ...] = ()


class Schedules(Protocol):
    """Stored schedules. Schedulers decide under leases; clients change a schedule that has the version that they read."""

    def add(self, schedule: Schedule, text: str) -> Schedule:
        """Store a new schedule with the text of its descriptor. Raises ConflictError if its name is taken."""
        ...

    def change(self, decision: Decision, *, text: str | None = None) -> Schedule:
        """Write the decision of a client, and a new text; ends the lease. Returns the schedule with its new version.

        Raises ConflictError if the stored version is another one than that of ``decision.after``.
        """
        ...

    def remove(self, schedule_id: str) -> None:
        """Delete a schedule and its due times; its runs remain. No error for an unknown id."""
        ...

    def get(self, ref: str) -> Schedule:
        """The schedule with this name, id or unique prefix of an id. Raises NotFoundError."""
        ...

    def find(self) -> Sequence[Schedule]:
        """All schedules, by name."""
        ...

    def text(self, schedule_id: str) -> str:
        """The text of the descriptor. Raises NotFoundError."""
        ...

    def due_times(self, schedule_id: str, *, limit: int) -> Sequence[DueTime]:
        """The latest due times with a decision, newest first."""
        ...

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Schedule]:
        """Lease up to ``limit`` schedules whose next decision is due, earliest first.

        As in ``Leases.claim``, leases that are too long do not count. A schedule with queued due times is also ready if its
        ``ready_s`` is more than ``QUEUE_LOOK_S`` ahead: it was written before the wall clock was set back.
        """
        ...

    def release(self, owner: str) -> None:
        """Release every lease of the owner."""
        ...

    def owners(self) -> Sequence[str]:
        """The owners of the current leases."""
        ...

    def apply(self, owner: str, decisions: Sequence[Decision], *, forget_before_s: float) -> Sequence[str]:
        """Write the decisions whose leases are still held, in one transaction, and release these leases.

        Returns the ids of the schedules whose decision was written. Decided due times of these schedules before
        ``forget_before_s`` are deleted, except queued ones.
        """
        ...

    def next_ready_s(self) -> float | None:
        """The earliest time at which a schedule without a lease is ready (UTC seconds, possibly past); None: there is none."""
        ...


#: A schedule with queued due times is looked at this often, seconds.
QUEUE_LOOK_S = 1.0
