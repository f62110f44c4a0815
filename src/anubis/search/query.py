"""What is searched for in the output of runs, and what is found."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from anubis.contracts.runs import RunQuery
from anubis.model.errors import BadInputError
from anubis.model.status import Status
from anubis.record.layout import STDERR, STDOUT

#: Most lines of context on each side of a line that is found, and most found lines of a page.
MOST_CONTEXT, MOST_LINES = 20, 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """A place from which a search continues: an offset in a stream of a run."""

    run_id: str
    attempt: int
    role: str
    rank: int
    stream: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """A search in the output of runs; a run and a line must match every condition that is set."""

    pattern: str
    regex: bool = False
    #: Of ASCII letters.
    ignore_case: bool = False
    run_ids: tuple[str, ...] = ()
    benchmark: str | None = None
    #: Prefix of a commit or version.
    commit: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    statuses: tuple[Status, ...] = ()
    family_id: str | None = None
    #: Interval of the arrival of the line, without its end; UTC seconds.
    since_s: float | None = None
    until_s: float | None = None
    streams: tuple[str, ...] = (STDOUT, STDERR)
    role: str | None = None
    rank: int | None = None
    #: Lines shown before and after each found line.
    context: int = 0
    limit: int = 100
    #: The ``next`` of the previous page.
    after: LogPlace | None = None

    def __post_init__(self) -> None:
        if unknown := set(self.streams) - {STDOUT, STDERR}:
            raise BadInputError(f"{min(unknown)!r} is not a stream", remedy="use stdout or stderr")
        if not (0 <= self.context <= MOST_CONTEXT and 1 <= self.limit <= MOST_LINES):
            raise BadInputError(
                f"a page has at most {MOST_LINES} found lines with {MOST_CONTEXT} lines of context each",
                remedy="ask for several pages",
            )

    def runs(self, *, after: str | None, limit: int) -> RunQuery:
        """The runs in which it searches, newest first."""
        return RunQuery(
            ids=self.run_ids,
            name=self.benchmark,
            subject=self.commit,
            labels=dict(self.labels),
            statuses=self.statuses,
            family_id=self.family_id,
            after=after,
            limit=limit,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLine:
    """A line that matches."""

    run_id: str
    benchmark: str
    attempt: int
    role: str
    rank: int
    stream: str
    #: Number of the line in its stream, from 1, and offset of its first byte.
    line: int
    offset: int
    #: Arrival of the line, UTC seconds.
    time_s: float
    #: The line. Bytes that are not UTF-8 are replaced; of a long line, the part around the first match.
    text: str
    #: Characters left out before and after ``text``.
    cut: tuple[int, int] = (0, 0)
    #: The matching parts of ``text``, in characters: start and end.
    highlights: tuple[tuple[int, int], ...] = ()
    #: The lines around it in its stream.
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsearched:
    """A run whose output was not searched."""

    run_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """One page of found lines: newest runs first, in a run by attempt, role, rank, stream and line."""

    lines: tuple[FoundLine, ...]
    #: Where the next page begins; None: everything was searched. A page may have no lines and a next page: a search
    #: is interrupted after a while.
    next: LogPlace | None
    #: Bytes of output that were read.
    read_bytes: int = 0
    unsearched: tuple[Unsearched, ...] = ()
