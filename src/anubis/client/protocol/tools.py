"""Operations on many runs: bisections, histories of other tools, storage, workers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from anubis.contracts.datasets import StoredDataset
from anubis.contracts.garbage import Expired, Garbage, Hold
from anubis.contracts.runs import RunQuery
from anubis.model.machines.joined import Assignment, JoinedWorker
from anubis.model.problem import Problem
from anubis.model.run import Run

if TYPE_CHECKING:
    from anubis.alternation.judgement import State
    from anubis.alternation.plan import Alternation, Plan
    from anubis.bisection.bisect_request import BisectRequest
    from anubis.bisection.bisection import BisectResult, CommitResult
    from anubis.transfer.histories import Added, ImportDefaults, ImportResult


class Bisections(Protocol):
    """Search for the commit that changed a metric, in a git repository on this machine."""

    def search(
        self,
        question: "BisectRequest",
        *,
        measure: Callable[[Sequence[Run]], Sequence[Run]] | None = None,
        answered: "Callable[[CommitResult], None] | None" = None,
    ) -> "BisectResult":
        """Find the commit; ``anubis.bisection.bisect_request.from_file`` makes a request from a descriptor file.

        ``measure`` waits for runs (None: ``Runs.wait``); ``answered`` is called after each commit. An interrupted
        search continues when it is started again.
        """
        ...

    def question_of_alert(
        self, alert_id: str, *, metric: str | None = None, repository: Path | None = None
    ) -> "BisectRequest":
        """The search for the commit in the range of an alert that changed its most severe metric."""
        ...


class Alternations(Protocol):
    """Two descriptors on one machine, alternated until they are decided or a budget is spent."""

    def begin(
        self,
        files: Sequence[Path],
        asked: "Plan",
        *,
        overrides: Mapping[str, str] | None = None,
        script: Path | None = None,
        warned: Callable[[Path, Problem], None] | None = None,
    ) -> "Alternation":
        """Store the first rounds of two descriptor files, the baseline first. Raises BadInputError."""
        ...

    def get(self, ref: str) -> "Alternation":
        """The alternation with this family, or to which a run belongs.

        Raises NotFoundError, or BadInputError if the run belongs to none.
        """
        ...

    def state(self, ref: str) -> "State":
        """What the final rounds of an alternation say; ``ref`` as for ``get``. Raises BadInputError as well."""
        ...

    def extend(self, ref: str, *, after: int) -> "Alternation":
        """Store the rounds that follow ``after`` rounds, unless they are stored; the alternation with them.

        Raises BadInputError if no rounds follow.
        """
        ...

    def proceed(
        self,
        alternation: "Alternation",
        *,
        measure: Callable[[Sequence[Run]], Sequence[Run]] | None = None,
        judged: "Callable[[State], None] | None" = None,
    ) -> "State":
        """Measure rounds until the alternation ends. An interrupted alternation continues where it stopped.

        ``measure`` waits for runs (None: ``Runs.wait``); ``judged`` is called after each pair of rounds.
        """
        ...


class Histories(Protocol):
    """Files of other tools."""

    def read(
        self,
        addresses: Sequence[str],
        *,
        format_name: str | None = None,
        given: "ImportDefaults | None" = None,
    ) -> "ImportResult":
        """The runs and points in other tools' files; nothing is stored. Raises BadInputError.

        Values that differ from stored ones are problems of the result.
        """
        ...

    def store(self, imported: "ImportResult") -> "Added":
        """Store what was read. Values of further metrics join runs that are stored already."""
        ...

    def export(self, query: RunQuery, out: BinaryIO, *, format_name: str = "csv") -> Sequence[Problem]:
        """Write the values of the runs that a query finds; the problems of values that could not be written."""
        ...


class Storage(Protocol):
    """Space in the home folder."""

    def collect(self, *, before_s: float, dry_run: bool = False) -> Sequence[Garbage]:
        """Delete files without an owner that were last changed before ``before_s``; what was (or would be) deleted."""
        ...

    def pack(self, *, before_s: float, dry_run: bool = False) -> Sequence[Garbage]:
        """Compress the records of runs that ended before ``before_s``; the bytes freed of each (or, dry, its size)."""
        ...

    def hold(self, refs: Sequence[str], *, why: str) -> Sequence[Hold]:
        """Hold runs: no command and no rule deletes them until the hold ends. Raises NotFoundError."""
        ...

    def holds(self) -> Sequence[Hold]:
        """All holds, the oldest first."""
        ...

    def release(self, refs: Sequence[str]) -> Sequence[str]:
        """End holds; the ids of the runs that were held."""
        ...

    def archive(self, place: Path | str, *, today: bool = False) -> Sequence[Mapping[str, Any]]:
        """Write daily data sets to a folder on this machine, or to ``s3://BUCKET/PREFIX``; the manifests that were written.

        With ``today`` also those of the day that has not ended. Raises BadInputError if another process writes them.
        """
        ...

    def expire(self, *, dry_run: bool = False) -> Sequence[Expired]:
        """Delete what the retention rules no longer keep; what was (or would be) deleted. Raises BadInputError."""
        ...


class Datasets(Protocol):
    """The cache of fetched datasets. A reference is a digest, its first digits, or an address as ``find`` shows it."""

    def find(self) -> Sequence[StoredDataset]:
        """What is stored or being fetched, last used first."""
        ...

    def get(self, ref: str) -> StoredDataset:
        """One of them. Raises NotFoundError, BadInputError for a reference to several."""
        ...

    def verify(self, ref: str) -> Sequence[str]:
        """Read all files of a dataset and remove those that are damaged or missing; their paths."""
        ...

    def prune(
        self, *, before_s: float, most_bytes: int | None = None, dry_run: bool = False
    ) -> Sequence[StoredDataset]:
        """Delete datasets last used before ``before_s``, and the least recently used above ``most_bytes``.

        The datasets of runs that are not final remain. Returns what was (or would be) deleted.
        """
        ...

    def export(self, ref: str, target: Path) -> None:
        """Copy a dataset to a path that does not exist yet."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerNow:
    """A joined worker, and the attempts that it has now."""

    worker: JoinedWorker
    attempts: Sequence[Assignment]


class Workers(Protocol):
    """Background workers, which drive runs when no command waits for them, and machines that joined as places to run."""

    def start(self) -> bool:
        """Start a worker if there are unfinished runs and no worker; whether one was started."""
        ...

    def pick_up(self) -> bool:
        """Start a worker if there are unfinished runs that no process drives; whether one was started.

        A process that is stopped no longer drives its runs when their leases have expired. Does nothing where no worker can be started, for example on a read-only disk.
        """
        ...

    def keep_schedules(self) -> None:
        """Submit the runs of schedules and drive runs in this process, until it gets SIGTERM or SIGINT.

        Several processes may do this: each due time is submitted once.
        """
        ...

    def run(self) -> bool:
        """Work in this process until all runs are final and all notices delivered; False if another worker is active.

        Notices that cannot be delivered within an hour are left to the next worker.
        """
        ...

    def find(self) -> Sequence[WorkerNow]:
        """The joined workers by name, also those without a valid token."""
        ...

    def get(self, name: str) -> WorkerNow:
        """One joined worker. Raises NotFoundError."""
        ...

    def make_token(self, name: str) -> str:
        """A token with which a worker of this name can join; an earlier one is no longer valid. It is stored nowhere."""
        ...

    def revoke(self, name: str) -> WorkerNow:
        """Refuse the token of a worker; what it runs is lost. Raises NotFoundError."""
        ...
