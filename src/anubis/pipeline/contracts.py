"""Everything a run touches on its way, as protocols. All of them fit on a card."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from anubis.model.alert import Alert, AlertState
from anubis.model.hardware import Strategy
from anubis.model.points import Point, PointBlock, SampleBlock
from anubis.model.run import Bundle, Event, Observation, Placement, Run, Step
from anubis.model.status import Status
from anubis.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an engine can do, as data, so that submit can refuse what it cannot."""

    strategies: frozenset[Strategy]
    #: The engine runs container images; without it an image in the descriptor is only recorded.
    images: bool = False
    #: The engine can put fetched datasets at their paths.
    data: bool = False
    #: The engine honours ``hardware.instance_type``.
    instance_types: bool = False
    #: ``measure.isolate = "place"`` is possible.
    isolate_place: bool = False


class Engine(Protocol):
    """Where a run runs. Engines only place agents; the agent measures."""

    name: str
    capabilities: Capabilities

    def place(self, run: Run, bundle: Bundle) -> Placement:
        """Start it. Placing one attempt twice starts once: names derive from run id and attempt.

        Raises NoCapacityError when there is no room now, StageError when it can never work.
        """
        ...

    def placed(self, run: Run) -> Placement | None:
        """What a reconciler that died just then may have started of this attempt; None: certainly nothing."""
        ...

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        """One observation for each placement, by placement name, in one bulk question.

        A placement that only another machine or home folder can see is left out: its run is left to them.
        """
        ...

    def cancel(self, placement: Placement) -> None:
        """End it; silent about what is gone already. Returns before it has ended."""
        ...

    def logs(self, placement: Placement) -> Iterator[bytes]:
        """What the engine itself has to say, for when there is no record."""
        ...


class Objects(Protocol):
    """Bytes by key; keys are digests or record paths."""

    def put(self, key: str, stream: BinaryIO) -> int:
        """Store the stream under the key, atomically; the size in bytes."""
        ...

    def open(self, key: str) -> BinaryIO:
        """The bytes of the key; NotFoundError when there are none."""
        ...

    def url(self, key: str) -> str:
        """An address at which others can read it."""
        ...


class Records(Protocol):
    """The records of runs, as folders."""

    def folder(self, run_id: str, attempt: int, role: str = "benchmark", rank: int = 0) -> Path:
        """The folder of one role and rank (not necessarily there yet); a packed record is unpacked for it."""
        ...

    def attempts(self, run_id: str) -> Sequence[int]:
        """The attempts that left a record, in order."""
        ...

    def pack(self, run_id: str) -> int:
        """Keep the record of a final run in less space; the bytes freed. ``folder`` brings it back."""
        ...

    def remove(self, run_id: str) -> None:
        """Delete every attempt's record."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Which runs to find; every condition that is set must hold."""

    ids: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ()
    name: str | None = None
    #: Commit or version, or the beginning of one.
    subject: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    family_id: str | None = None
    parent_id: str | None = None
    #: Runs with a point of this metric.
    metric: str | None = None
    #: Created in this span, whose end is not part of it; UTC seconds.
    since_s: float | None = None
    until_s: float | None = None
    limit: int = 100
    newest_first: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """What a listing shows of a run, without its descriptor."""

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
    #: Metric -> (value, unit) of the run's points.
    values: dict[str, tuple[float, str]]


class Runs(Protocol):
    """Runs and their events. Everything that changes a run is guarded by its lease."""

    def add(self, runs: Sequence[tuple[Run, str]], events: Sequence[Event]) -> None:
        """Store new runs, each with the original text of its descriptor, and events, in one transaction.

        A run that is there already is left as it is, and its events are dropped: the call may be repeated.
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

        With them go their events and, by run id, their samples, where these are known. A run whose id is stored
        already stays as it is, with its points. The ids that are new.
        """
        ...

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Run]:
        """Lease up to ``limit`` due runs that nobody holds, highest priority and oldest first."""
        ...

    def renew(
        self, owner: str, run_ids: Sequence[str], *, now_s: float, lease_s: float
    ) -> Mapping[str, bool]:
        """Extend the leases still held: run id -> cancellation was asked for. A lost lease is absent."""
        ...

    def release(self, owner: str, run_ids: Sequence[str] | None = None) -> None:
        """Give leases back (None: all of this owner)."""
        ...

    def owners(self) -> Sequence[str]:
        """Who holds leases now: lets a reconciler release what a dead neighbour held."""
        ...

    def apply(self, owner: str, run: Run, step: Step, *, now_s: float) -> Run:
        """Write the step in one transaction if ``owner`` still holds the run; the run as it is now.

        A final status drops the lease. Raises LeaseLostError, having written nothing.
        """
        ...

    def request_cancel(self, run_ids: Sequence[str], events: Sequence[Event]) -> Sequence[str]:
        """Mark runs that are not final, and make them due; the ids that were marked now for the first time.

        Events of runs that were not marked now are dropped.
        """
        ...

    def cancelled(self, owner: str) -> Sequence[str]:
        """Which of the runs that ``owner`` holds are to be cancelled; only reads."""
        ...

    def get(self, run_id: str) -> Run:
        """By full id or unique prefix; NotFoundError names the candidates of an ambiguous one."""
        ...

    def text(self, run_id: str) -> str:
        """The descriptor as it was submitted."""
        ...

    def find(self, query: RunQuery) -> Sequence[RunRow]:
        """Rows for a listing, with their points' values, in two statements at most."""
        ...

    def unfinished(self) -> int:
        """How many runs are not final."""
        ...

    def events(self, run_id: str | None = None, *, after_seq: int = 0, limit: int = 1000) -> Sequence[Event]:
        """Events in order, of one run or of all.

        Whoever has read up to a number has missed nothing up to it, whatever commits later.
        """
        ...

    def remove(self, run_ids: Iterable[str]) -> None:
        """Forget final runs with their points, samples and events; others are passed over."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """What is known about one metric of one run without reading its samples."""

    metric: str
    units: str
    count: int
    last: float
    min: float
    max: float
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRow:
    """What a listing of series shows of those that share a key."""

    series_key: str
    benchmark: str
    labels: dict[str, str]
    #: By name.
    metrics: tuple[str, ...]


class Points(Protocol):
    """Points of series, and the samples behind them."""

    def series(self) -> Sequence[SeriesRow]:
        """Everything that has points, by benchmark and series key."""
        ...

    def of(self, run_ids: Sequence[str]) -> Sequence[Point]:
        """All points of these runs."""
        ...

    def history(
        self, series_key: str, metric: str, fingerprint: str | None = None, *, limit: int = 10_000
    ) -> Sequence[Point]:
        """One series, oldest first; when there are more than ``limit`` points, the newest of them."""
        ...

    def histories(
        self,
        series_keys: Sequence[str],
        metrics: Sequence[str],
        *,
        before_s: float = math.inf,
        most: int = 10_000,
    ) -> Sequence[PointBlock]:
        """Many series at once: a block for each series, machine, metric and unit that has points.

        They are those of the newest ``most`` runs of each series and machine among the runs before ``before_s``, in
        the order of ``Point.order_s`` (``Run.order_s``, else when it was submitted).
        """
        ...

    def samples(self, run_id: str, metric: str, *, most: int | None = None) -> SampleBlock:
        """The samples of one metric, thinned to at most ``most`` (each bucket keeps its extremes); NotFoundError."""
        ...

    def summaries(self, run_id: str) -> Sequence[MetricSummary]:
        """One row for each metric of the run."""
        ...


class Alerts(Protocol):
    """Alerts as they stand; their history is events."""

    def put(self, alerts: Sequence[Alert], events: Sequence[Event]) -> None:
        """Insert or replace by alert id, with the events that tell of it, in one transaction."""
        ...

    def get(self, alert_id: str) -> Alert:
        """By id or unique prefix; NotFoundError."""
        ...

    def trail(self, alert_id: str) -> Sequence[Event]:
        """Every event that tells of this alert (``data["alert"]`` is its full id), in order."""
        ...

    def find(
        self,
        *,
        states: Sequence[AlertState] = (),
        benchmark: str | None = None,
        series_key: str | None = None,
    ) -> Sequence[Alert]:
        """Newest first; every condition that is set must hold."""
        ...


class Cursors(Protocol):
    """How far each receiver of events has come."""

    def all(self, prefix: str) -> Mapping[str, int]:
        """Receiver -> last event delivered, of the receivers whose names start so."""
        ...

    def advance(self, name: str, seq: int) -> None:
        """Everything up to ``seq`` was delivered, or is not for this receiver; never goes back."""
        ...


class Notifier(Protocol):
    """Who is told. One notifier serves the addresses of its schemes (``[[notify]] to``)."""

    #: What stands before the first colon of an address: mailto, slack, https ...
    schemes: frozenset[str]

    def notify(self, to: str, alert: Alert) -> None:
        """Tell about the alert as it is now. Keyed by alert id and state, so that twice is seen once.

        Raises NotifyError when it should be tried again later, or never (``permanent``).
        """
        ...


class Clock(Protocol):
    """Time, so that tests own it."""

    def now_s(self) -> float:
        """UTC, seconds since 1970."""
        ...

    def wait(self, seconds: float) -> None:
        """Return after that many seconds, or earlier when there may be something to do."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What stages may look at and ask for."""

    engines: Mapping[str, Engine]
    objects: Objects
    records: Records
    runs: Runs
    points: Points
    alerts: Alerts
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a plug-in is built from: its entry point names a function of this one argument."""

    settings: Settings
    objects: Objects
    records: Records
