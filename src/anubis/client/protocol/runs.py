"""Runs, their values and their records."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from anubis.contracts.points import MetricSummary
from anubis.contracts.runs import RunQuery, RunRow, StoredNames
from anubis.model.points import Point, SampleBlock
from anubis.model.problem import Problem
from anubis.model.run import Event, Run
from anubis.record.environment import RecordedEnvironment
from anubis.record.files import Files
from anubis.record.layout import BENCHMARK, FIRST_RANK

if TYPE_CHECKING:
    from anubis.describe.drafting import DescriptorText
    from anubis.sealing.chain import Head
    from anubis.sealing.sealer import ChainReport
    from anubis.search.following import OutputLine
    from anubis.search.query import LogPage, LogQuery
    from anubis.search.samples import FollowedSamples


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A run that repeats another."""

    run: Run
    replay_of: Run
    #: What the replay does not have in common with it, as warnings.
    differences: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitRequest:
    """One of several submissions that are stored together; see ``Runs.submit``."""

    files: "Sequence[Path | DescriptorText]"
    overrides: Mapping[str, str] = field(default_factory=dict)
    script: Path | str | None = None
    rounds: int = 1
    control: bool = False
    #: As for ``Runs.submit``; RUN may also be a benchmark of another of the submissions.
    needs: Sequence[str] = ()


class Runs(Protocol):
    """Submit, find, wait for, cancel and purge runs."""

    def submit(
        self,
        files: "Sequence[Path | DescriptorText]",
        *,
        overrides: Mapping[str, str] | None = None,
        script: Path | str | None = None,
        rounds: int = 1,
        control: bool = False,
        warned: Callable[[Path, Problem], None] | None = None,
        overlays: Sequence[Path] = (),
        needs: Sequence[str] = (),
    ) -> list[Run]:
        """Store the runs of these descriptor files or texts, all or none; the runs in the order in which they will start.

        Several files, several rounds or a ``[matrix]`` make a family. ``control``: each file is measured as both sides of
        an A/A control, which no series, alert or baseline contains. ``warned`` is called with every old spelling
        and every field that the engine only records. ``script`` is a file or folder, or the key of a stored archive. ``overlays`` are files that change every descriptor. ``needs``: the runs start only after these
        have succeeded, each as ``RUN`` or ``BENCHMARK=RUN``, where RUN is a reference or a benchmark of this submission. Raises BadInputError with every problem found.
        """
        ...

    def submit_all(
        self,
        requests: Sequence[SubmitRequest],
        *,
        warned: Callable[[Path, Problem], None] | None = None,
    ) -> list[list[str]]:
        """Store the runs of many submissions in one transaction, all or none; the ids of each submission.

        Raises BadInputError with the problems of all of them; the path of each begins with its position.
        """
        ...

    def replay(
        self, ref: str, *, overrides: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> Replayed:
        """Store a run that repeats another: the same descriptor with its overrides, the same script archive.

        ``overrides`` are applied in addition; ``folder`` is the working folder (None: that of the run). Raises
        BadInputError with every problem if another code would be measured.
        """
        ...

    def compared(self, replayed: Replayed) -> Replayed:
        """The replay after its end: also with the differences of what the two runs measured, their data and image."""
        ...

    def wait(self, run_ids: Sequence[str], changed: Callable[[Run], None] | None = None) -> list[Run]:
        """Wait until these runs are final; the runs as they ended. ``changed`` is called after every change of one.

        An embedded client drives due runs from this process meanwhile.
        """
        ...

    def get(self, ref: str) -> Run:
        """The run of a reference. Raises NotFoundError."""
        ...

    def find(self, query: RunQuery) -> Sequence[RunRow]:
        """The rows of a listing."""
        ...

    def family(self, ref: str) -> Sequence[RunRow]:
        """The runs of the same family in the order of their submission; only the run itself if it has no family."""
        ...

    def names(self) -> StoredNames:
        """The benchmarks, metrics and labels of the stored runs."""
        ...

    def short_ids(self, run_ids: Iterable[str]) -> Mapping[str, str]:
        """For each id a prefix that is unique among the stored runs and is accepted as a reference."""
        ...

    def events(self, ref: str, *, after_seq: int = 0) -> Sequence[Event]:
        """The timeline of a run."""
        ...

    def text(self, ref: str) -> str:
        """The descriptor file as it was submitted."""
        ...

    def cancel(self, refs: Sequence[str], *, why: str = "", cascade: bool = False) -> list[Run]:
        """Ask for the cancellation of runs; those that were not final and had not been asked before.

        With ``cascade`` also of the runs that they caused, for example confirming runs.
        """
        ...

    def purge(self, refs: Sequence[str]) -> list[str]:
        """Delete final runs and their records; the ids. Raises BadInputError if a run is not final."""
        ...

    def engines(self) -> list[str]:
        """The names of the engines that runs can use."""
        ...


class Results(Protocol):
    """The values of runs, and the samples from which they were computed."""

    def points(self, refs: Sequence[str]) -> Sequence[Point]:
        """The points of these runs: one value for each run and metric."""
        ...

    def summaries(self, ref: str) -> Sequence[MetricSummary]:
        """Count, last, extremes and mean of the samples of every metric."""
        ...

    def samples(self, ref: str, metric: str, *, most: int | None = None) -> SampleBlock:
        """The samples of one metric, thinned to at most ``most``."""
        ...

    def samples_of(
        self, ref: str, metrics: Sequence[str] = (), *, most: int | None = None
    ) -> Sequence[SampleBlock]:
        """The samples of several metrics (none: of all), each thinned to at most ``most``."""
        ...

    def follow(self, ref: str, metrics: Sequence[str] = ()) -> "Iterator[Sequence[FollowedSamples]]":
        """The samples of all replicas of a run as they are measured, in batches, until the run is final.

        Begins with the first sample of the current attempt. A client of a service continues after the service was started
        again, without losing or repeating a sample.
        """
        ...


class Records(Protocol):
    """The records of runs: the files that the agent wrote."""

    def folder(self, ref: str) -> Path:
        """The folder of the latest attempt's record (role benchmark, rank 0). Raises NotFoundError if there is none."""
        ...

    def folder_of(self, run: Run) -> Path | None:
        """The folder of the record of the run's current attempt; None if there is none on this machine."""
        ...

    def has(self, run: Run) -> bool:
        """Whether the run's current attempt has a record."""
        ...

    def files(self, run: Run, role: str = BENCHMARK, rank: int = FIRST_RANK) -> Files:
        """The files of one replica in the run's current attempt; they may not exist yet."""
        ...

    def replicas(self, run: Run) -> Sequence[tuple[str, int]]:
        """Role and rank of every replica that has a record in the run's current attempt, in order."""
        ...

    def environment(self, run: Run) -> RecordedEnvironment | None:
        """The environment of the benchmark as the record keeps it; None if there is none."""
        ...

    def extract(self, ref: str) -> list[str]:
        """Read the samples of a final run from its record again, in place of the stored ones; the names of its metrics.

        Raises BadInputError if the run is not final or its record does not contain all samples, and NotFoundError without
        a record.
        """
        ...

    def follow(
        self,
        ref: str,
        *,
        streams: Sequence[str] = ("stdout", "stderr"),
        role: str | None = None,
        rank: int | None = None,
    ) -> "Iterator[Sequence[OutputLine]]":
        """The lines of all replicas of a run as they are written, in batches, until the run is final.

        Begins with the first line of the current attempt, and continues with later attempts. A line appears when it is
        complete. A client of a service continues after the service was started again, without losing or repeating a line.
        """
        ...

    def search(self, query: "LogQuery") -> "LogPage":
        """One page of the lines in the output of runs that match, newest runs first.

        The next page is that of the same query with ``next`` of the page as ``after``. Raises BadInputError for a pattern
        that is not valid, or takes too long.
        """
        ...

    def index(self, ref: str) -> int:
        """Index the output of a final run again, for searches; the number of bytes. Raises BadInputError."""
        ...

    def export(self, ref: str, out: BinaryIO) -> Run:
        """Write a final run with its record, rows and script as one archive. Raises BadInputError if it is not final."""
        ...

    def bring_in(self, file: Path) -> Run:
        """Store the run of an archive, complete or not at all. Raises BadInputError."""
        ...

    def seal(self) -> list[str]:
        """Add the final runs that the chain of this installation does not contain to it; their ids."""
        ...

    def compare_chain(
        self, *, known: "Head | None" = None, progress: Callable[[int, int], None] | None = None
    ) -> "ChainReport":
        """Compare all runs of the chain with what is stored. ``known`` is a head that was noted earlier.

        ``progress`` is called with the number of runs done and of all. Raises BrokenChainError.
        """
        ...
