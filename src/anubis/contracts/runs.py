"""Runs: what is read about them, and what clients change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from anubis.model.points import Point, SampleBlock
from anubis.model.run import Event, Run
from anubis.model.status import Status


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


class RunReader(Protocol):
    """What is read about runs."""

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


class RunWriter(Protocol):
    """What clients change: they add runs, cancel them and delete them. What stages decide goes through ``Leases``."""

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

    def request_cancel(self, run_ids: Sequence[str], events: Sequence[Event]) -> Sequence[str]:
        """Mark runs that are not final, and make them due; the ids that were marked now for the first time.

        Events of runs that were not marked now are dropped.
        """
        ...

    def remove(self, run_ids: Iterable[str]) -> None:
        """Forget final runs with their points, samples and events; others are passed over."""
        ...


class Runs(RunReader, RunWriter, Protocol):
    """Both."""
