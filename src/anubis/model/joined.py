"""Machines that joined a service as places to run, and the attempts of runs that wait for them or run there."""

from dataclasses import dataclass, field
from typing import Any

from anubis.model.cause import Cause
from anubis.model.run import Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedWorker:
    """A worker as the service knows it. Everything from ``place`` on is what it reported last."""

    name: str
    created_s: float
    #: Digest of its token; empty: the token was revoked.
    token: str = field(default="", repr=False)
    revoked_s: float | None = None
    #: Random id of its home folder; empty: it has never joined.
    place: str = ""
    host: str = ""
    #: Words that descriptors name in ``hardware.instance_type``.
    labels: tuple[str, ...] = ()
    #: The engines with which it measures: process, container.
    engines: tuple[str, ...] = ()
    #: Runs that it measures at the same time.
    slots: int = 1
    #: Release of Anubis, and version of the protocol.
    release: str = ""
    protocol: int = 0
    #: Facts about the machine, as in ``facts.json`` of a record.
    facts: dict[str, Any] = field(default_factory=dict)
    #: Its last request, UTC seconds; None: none yet.
    seen_s: float | None = None
    #: Number of its requests. Clocks of machines jump, so silence is measured by it.
    beats: int = 0
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One attempt of a run that waits for a worker, or that a worker has."""

    run_id: str
    attempt: int
    #: When it was queued, UTC seconds.
    queued_s: float
    #: Labels and engine that the worker must have.
    labels: tuple[str, ...] = ()
    engine: str = "process"
    priority: int = 0
    #: Its family, and how many of that workers may have at the same time; 0: no limit.
    family: str = ""
    at_once: int = 0
    #: The worker, and its home folder at that time; empty: it waits.
    worker: str = ""
    place: str = ""
    assigned_s: float | None = None
    #: Whether the attempt can still change. A closed one is never opened again.
    is_open: bool = True
    #: Whether the worker was given what it needs to start: from then on it may run.
    is_taken: bool = False
    #: Whether it never ran and never can.
    is_revoked: bool = False
    cancel: bool = False
    seen: Seen = Seen.WAITING
    exit_code: int | None = None
    reason: str = ""
    cause: Cause | None = None
    #: Digest of the token with which its record is shipped; empty: none, or revoked.
    token: str = field(default="", repr=False)
    version: int = 0

    @property
    def name(self) -> str:
        """The name of its placement."""
        return f"{self.run_id}.{self.attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The state of one attempt, as its worker reports it."""

    run_id: str
    attempt: int
    seen: Seen
    reason: str = ""
    exit_code: int | None = None
    cause: Cause | None = None
