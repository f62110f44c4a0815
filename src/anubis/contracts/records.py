"""The records of runs: files that are read and appended to by offset, independent of where they are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from anubis.model.points import SampleBlock
from anubis.record.files import FileState
from anubis.record.layout import BENCHMARK, FIRST_RANK

if TYPE_CHECKING:
    from anubis.record.samples import Columns


@dataclass(frozen=True, slots=True, order=True)
class RecordKey:
    """The key of the record of one role and rank of an attempt."""

    run_id: str
    attempt: int
    role: str = BENCHMARK
    rank: int = FIRST_RANK


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFile:
    """One file of a record."""

    key: RecordKey
    #: Path below the folder of role and rank.
    file: str
    size_bytes: int
    #: Time of the last change; UTC seconds.
    modified_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Bytes for a file, as in ``Records.append``."""

    key: RecordKey
    file: str
    offset: int
    data: bytes
    #: Not stored, with the same error, if the append before it is not.
    follows: bool = False


class Records(Protocol):
    """The records of runs. Methods raise ValueError for a name that no record can have, StoreError if the store fails.

    ``read`` and ``state`` raise DamagedError for a file that the benchmark made unreadable.
    """

    def append(self, key: RecordKey, file: str, offset: int, data: bytes) -> int:
        """Append bytes to a file; returns the new size. Bytes that are stored already are compared and skipped.

        The bytes are on the disk when it returns. Raises GapError, with the expected offset, when bytes before ``offset`` are missing, ConflictError when other
        bytes are stored there, and FullError when the disk is full.
        """
        ...

    def append_all(self, appends: Sequence[Append]) -> "Sequence[int | Exception]":
        """Append to several files, in order: the new size of each, or the error of ``append``.

        Writing them to the disk together takes little longer than writing one.
        """
        ...

    def replace(self, key: RecordKey, file: str, data: bytes) -> None:
        """Replace a file of ``layout.REPLACED`` atomically: readers see the old content or the new one.

        After replacing exit.json, all files of this role and rank are synced to the disk. Raises FullError.
        """
        ...

    def read(self, key: RecordKey, file: str, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes; fewer only at the end of the file, none where there is no file."""
        ...

    def state(self, key: RecordKey, file: str) -> FileState | None:
        """Size and time of the last change of a file; None where there is no file."""
        ...

    def list(self, run_id: str, attempt: int) -> Sequence[RecordFile]:
        """All files of an attempt, sorted by role, rank and name."""
        ...

    def attempts(self, run_id: str) -> Sequence[int]:
        """The attempts that have a record, in order."""
        ...

    def is_pending(self, run_id: str, attempt: int) -> bool:
        """Whether bytes of a final attempt are still missing, because another home folder has not copied them yet."""
        ...

    def url(self, key: RecordKey) -> str:
        """The address of the files of one role and rank, shown to users."""
        ...

    def pack(self, run_id: str) -> int:
        """Compress the record of a final run; returns the bytes freed. Reading unpacks it."""
        ...

    def remove(self, run_id: str) -> None:
        """Delete the records of all attempts; does nothing if there are none."""
        ...


@dataclass(frozen=True, slots=True)
class RoleFiles:
    """The files of one role and rank, as ``Files`` for the readers in ``anubis.record``."""

    records: Records
    key: RecordKey

    def read(self, file: str, offset: int, length: int) -> bytes:
        """See ``Records``."""
        return self.records.read(self.key, file, offset, length)

    def state(self, file: str) -> FileState | None:
        """See ``Records``."""
        return self.records.state(self.key, file)


def blocks_of(samples: "Mapping[str, Columns]") -> list[SampleBlock]:
    """These columns as blocks."""
    return [
        SampleBlock(
            metric=metric,
            units=columns.units,
            values=columns.values,
            times_s=columns.times_s,
            steps=columns.steps,
            repeats=columns.repeats,
        )
        for metric, columns in samples.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogChunk:
    """Some lines of one stream of a final run, with a bitmap of what occurs in them."""

    key: RecordKey
    stream: str
    #: Offsets of the first byte, and of the first byte after the last line.
    start: int
    end: int
    #: Number of the first line, from 1.
    line: int
    #: Number of the entry of the time index at which the lookup of the times of these lines begins.
    entry: int
    #: Earliest and latest arrival of a line; UTC seconds.
    first_s: float
    last_s: float
    #: See ``search.bitmaps``.
    bitmap: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Unindexed:
    """A final run whose output is not in the index."""

    run_id: str
    #: Larger for later runs.
    number: int
    #: Whether it was placed, so that it has a record on some machine.
    placed: bool


class LogIndex(Protocol):
    """An index of the output of final runs. It is derived from the records, and can be derived again."""

    def put(self, chunks: "Mapping[str, Sequence[LogChunk]]") -> None:
        """Replace the index of these runs, in one transaction; runs that are not stored or not final are left out."""
        ...

    def of(self, run_ids: Sequence[str], wanted: Sequence[int] = ()) -> "Mapping[str, Sequence[LogChunk]]":
        """The index of each of these runs that has one, in the order of attempt, role, rank, stream and offset.

        ``wanted`` are hashes of ``search.bitmaps``: chunks that cannot contain all of them are left out.
        """
        ...

    def missing(self, *, before: int | None = None, limit: int = 64) -> Sequence[Unindexed]:
        """Final runs without an index, newest first; only those with a number below ``before``."""
        ...

    def forget(self, run_ids: Sequence[str]) -> None:
        """Delete the index of these runs."""
        ...
