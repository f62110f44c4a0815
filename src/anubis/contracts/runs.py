"""Stored runs: queries, and changes by clients."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.hardware import Cost
from anubis.model.points import Point, SampleBlock
from anubis.model.run import Event, Run
from anubis.model.status import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Conditions of a listing of runs; a run must match every condition that is set."""

    ids: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ()
    #: Names of projects; None: all.
    projects: tuple[str, ...] | None = None
    name: str | None = None
    #: Prefix of a commit or version.
    subject: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    family_id: str | None = None
    parent_id: str | None = None
    #: Client id of who submitted it.
    owner: str | None = None
    #: Runs with a point of this metric.
    metric: str | None = None
    #: Interval of the creation time, without its end; UTC seconds.
    since_s: float | None = None
    until_s: float | None = None
    #: Id of a run: only runs after it in the order of the listing (the last run of a page selects the next page).
    after: str | None = None
    limit: int = 100
    newest_first: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A row in a listing of runs, without the descriptor."""

    id: str
    name: str
    status: Status
    cause: str | None
    engine: str
    created_s: float
    placed_s: float | None
    ended_s: float | None
    reason: str
    family_id: str | None
    labels: dict[str, str]
    subject: str
    #: See ``Run.cell``.
    cell: dict[str, Any]
    #: Metric -> (value, unit) of the run's points.
    values: dict[str, tuple[float, str]]
    #: See ``Run.overrides``.
    overrides: dict[str, str] = field(default_factory=dict)
    #: See ``Run.cost``.
    cost: Cost | None = None
    project: str = DEFAULT_PROJECT


class Part(StrEnum):
    """What retention can delete of a run while the run itself, its points and their summaries remain."""

    RECORD = "record"
    SAMPLES = "samples"
    EVENTS = "events"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNames:
    """The names that conditions of a listing can have, in alphabetical order."""

    benchmarks: tuple[str, ...]
    #: Metrics with a point.
    metrics: tuple[str, ...]
    #: Name of a label -> its values.
    labels: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedSubmission:
    """A submission that can be repeated: with the same key, its runs are stored once."""

    #: Chosen by the client; unique.
    key: str
    #: Digest of the request, which tells a repetition from another request with the same key.
    digest: str
    run_ids: tuple[str, ...]
    #: UTC seconds.
    created_s: float


class RunReader(Protocol):
    """Queries of runs."""

    def get(self, run_id: str) -> Run:
        """The run with this id or unique prefix. Raises NotFoundError, which lists the candidates if it is ambiguous."""
        ...

    def short_ids(self, run_ids: Iterable[str]) -> Mapping[str, str]:
        """For each id a prefix that is unique among the stored runs, as short as ``model.ids.short_id`` makes it."""
        ...

    def text(self, run_id: str) -> str:
        """The descriptor as it was submitted."""
        ...

    def find(self, query: RunQuery) -> Sequence[RunRow]:
        """Rows for a listing, with the values of their points. Raises NotFoundError if ``after`` is not stored."""
        ...

    def names(self) -> StoredNames:
        """The names of the stored runs."""
        ...

    def unfinished(self) -> int:
        """The number of runs that are not final."""
        ...

    def submission(self, key: str) -> KeyedSubmission | None:
        """The submission with this key; None if there is none, or if it was stored more than a week before the newest one."""
        ...


class RunWriter(Protocol):
    """Changes by clients: they add, cancel and delete runs. Stages change runs through ``Leases``."""

    def add(
        self,
        runs: Sequence[tuple[Run, str]],
        events: Sequence[Event],
        *,
        keyed: KeyedSubmission | None = None,
    ) -> None:
        """Store new runs, each with the original text of its descriptor, and events, in one transaction.

        A run that is stored already is not changed, and its events are dropped, so the call can be repeated. ``keyed`` is
        stored with the runs; raises ConflictError, and stores nothing, if another submission with its key is stored.
        """
        ...

    def add_finished(
        self,
        runs: Sequence[tuple[Run, str]],
        points: Sequence[Point],
        *,
        events: Sequence[Event] = (),
        samples: Mapping[str, Sequence[SampleBlock]] | None = None,
    ) -> Sequence[str]:
        """Store runs that ended elsewhere (an imported history) with their points, in one transaction.

        Stores also their events and, by run id, their samples. A run that is stored already is not changed. Returns
        the ids of the new runs.
        """
        ...

    def add_points(self, points: Sequence[Point]) -> int:
        """Add points of further metrics to final runs that have points, in one transaction; the number of new points.

        A point of a metric that the run has already, or of another run, is dropped, so the call can be repeated. The
        points belong to the session of the run.
        """
        ...

    def replace_samples(self, run_id: str, samples: Sequence[SampleBlock]) -> None:
        """Store these samples of a final run in place of all that it has, in one transaction.

        Raises NotFoundError if there is no final run with this id.
        """
        ...

    def request_cancel(self, run_ids: Sequence[str], events: Sequence[Event]) -> Sequence[str]:
        """Request cancellation of runs that are not final, and make them due; returns the ids of the first requests.

        Events of other runs are dropped.
        """
        ...

    def remove(self, run_ids: Iterable[str], events: Sequence[Event] = ()) -> Sequence[str]:
        """Delete final runs with their points, samples and events; returns their ids.

        Runs that are not final or are held are skipped. ``events`` are those about the removal: they remain. Events that
        an active sink has not received yet remain until it has; see ``Events.read_all``.
        """
        ...

    def expire(
        self, run_ids: Iterable[str], parts: Collection[Part], events: Sequence[Event]
    ) -> Sequence[str]:
        """Delete parts of final runs, and store the events about it; returns the ids of these runs.

        Skips as ``remove``. Files of records are not deleted: the caller deletes those of the returned runs.
        """
        ...


class Runs(RunReader, RunWriter, Protocol):
    """Queries and changes of runs."""
