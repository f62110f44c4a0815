"""Events of runs, and the sinks that receive them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from anubis.model.run import Event

#: Kind of the event about the removal of a run, which remains when the run is gone.
PURGED_EVENT = "purged"
#: Kinds of the events about held runs, and about parts of a run that retention deleted.
HELD_EVENT, RELEASED_EVENT, EXPIRED_EVENT = "held", "released", "expired"
#: Kind of events -> when there is one.
KINDS = {
    "submitted": "the run is stored",
    "only_recorded": "the engine only records a field of the descriptor",
    "fetched": "its datasets are fetched",
    "placed": "the benchmark is placed",
    "revoked": "the engine refused or revoked the placement",
    "retried": "the run is repeated after a failure",
    "stopped": "a limit stopped the run",
    "cancel_requested": "cancellation is requested",
    "ended": "the benchmark has ended",
    "lost": "the placement is lost",
    "condition": "a condition of the descriptor did not apply",
    "warmed_up": "the warm-up has reached a steady state",
    "no_steady_state": "the warm-up has not reached a steady state",
    "rejected": "values were not recorded",
    "contaminated": "the machine was disturbed during the measurement",
    "voided": "the measurement does not count",
    "note": "a remark about the analysis",
    "threshold": "a value crossed a bound of the descriptor",
    "alert": "an alert changed its state",
    "delivered": "an alert was delivered",
    "undelivered": "an alert cannot be delivered",
    "control": "the result of an A/A control",
    "alternation": "the run belongs to anubis ab",
    "imported": "the run was imported from an archive",
    "schedule_paused": "its schedule is paused",
    "final": "the run is final",
    HELD_EVENT: "the run is held",
    RELEASED_EVENT: "the run is no longer held",
    EXPIRED_EVENT: "retention deleted parts of the run",
    PURGED_EVENT: "the run is deleted",
}


class Events(Protocol):
    """The events of runs, in order; they are deleted only when their run is removed."""

    def append(self, events: Sequence[Event]) -> None:
        """Store events in one transaction; raises an error if a run of theirs is not stored."""
        ...

    def read(self, run_id: str | None = None, *, after_seq: int = 0, limit: int = 1000) -> Sequence[Event]:
        """Events in order, of one run or of all.

        Numbers become visible in order: no event with a lower number appears after one with a higher number.
        """
        ...

    def read_all(self, *, after_seq: int = 0, limit: int = 1000) -> Sequence[Event]:
        """Events in order, also those of removed runs that an active sink has not received yet, and their removals."""
        ...

    def last(self) -> int:
        """The number of the newest event that was ever stored; 0 before the first one."""
        ...


class SinkState(StrEnum):
    """Whether a sink receives events."""

    ACTIVE = "active"
    #: The receiver answered that it accepts no more events (410).
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """A receiver of events, and its position in the order of all events."""

    #: UUID version 7.
    id: str
    #: Where the events are posted. It may contain a secret: show ``redacted`` of it.
    address: str = field(repr=False)
    #: Keys of the signature, separated by spaces.
    secret: str = field(repr=False)
    #: Kinds of events that it receives; empty: all.
    kinds: tuple[str, ...] = ()
    #: UTC seconds.
    created_s: float
    #: Number of the last event that it has received, or that is not of its kinds.
    cursor: int
    state: SinkState = SinkState.ACTIVE
    #: Not attempted before this time; UTC seconds.
    due_s: float
    #: Failed attempts in a row.
    attempts: int = 0
    #: Why the last attempt failed, without the address; empty: it did not fail.
    error: str = ""
    #: Number of delivered events.
    delivered: int = 0
    #: When the last event was delivered, UTC seconds; None: never.
    delivered_s: float | None = None
    #: Number of events after its position, of any kind; 0 until stored.
    behind: int = 0
    #: Position among all sinks; None until stored.
    no: int | None = None


class Sinks(Protocol):
    """The sinks of an installation. Only the owner of its lease changes the position of a sink."""

    def add(self, sink: Sink) -> None:
        """Store a new sink."""
        ...

    def get(self, ref: str) -> Sink:
        """The sink with this id or unique prefix. Raises NotFoundError."""
        ...

    def find(self) -> Sequence[Sink]:
        """All sinks, in the order in which they were added."""
        ...

    def remove(self, sink_id: str) -> None:
        """Delete a sink."""
        ...

    def resume(self, sink_id: str, *, now_s: float) -> None:
        """Make a sink active and due at once."""
        ...

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Sink]:
        """Lease up to ``limit`` active sinks that are due and have events after their position.

        Times that are too far ahead do not count: see ``Leases.claim``.
        """
        ...

    def renew(self, owner: str, numbers: Sequence[int], *, now_s: float, lease_s: float) -> Sequence[int]:
        """Extend the leases that are still held; returns their numbers."""
        ...

    def release(self, owner: str) -> None:
        """Release every lease of the owner."""
        ...

    def owners(self) -> Sequence[str]:
        """The owners of the current leases."""
        ...

    def apply(self, owner: str, after: Sink) -> bool:
        """Write position, state and result of an attempt, and release the lease; False: the lease was lost."""
        ...

    def next_due_s(self) -> float | None:
        """The earliest time at which a sink can be claimed (UTC seconds, possibly past); None: no sink has events."""
        ...


class Publisher(Protocol):
    """Publishes events to sinks. Called from several threads, but never concurrently for one sink."""

    def publish(self, sink: Sink, event: Event) -> bool:
        """Deliver one event, keyed by sink and number, so that a repetition is recognised.

        Returns False if the receiver accepts no more events. Raises NotifyError.
        """
        ...
