"""The records of runs: files that grow, read and appended by offset, wherever they are stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from anubis.model.points import SampleBlock
from anubis.record.files import FileState
from anubis.record.layout import BENCHMARK, FIRST_RANK

if TYPE_CHECKING:
    from anubis.record.reading import Record


@dataclass(frozen=True, slots=True, order=True)
class RecordKey:
    """Names the record of one role and rank of an attempt."""

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


class Records(Protocol):
    """The records of runs. A name that no record can have is a ValueError; a store that fails is a StoreError."""

    def append(self, key: RecordKey, file: str, offset: int, data: bytes) -> int:
        """Append bytes to a file that grows; the new size. Bytes that are stored already are compared and skipped.

        Raises GapError, which names the expected offset, when bytes before ``offset`` are missing, ConflictError
        when other bytes are stored there, and FullError when the disk is full.
        """
        ...

    def replace(self, key: RecordKey, file: str, data: bytes) -> None:
        """Store a file of ``layout.REPLACED``: readers find the old content or all of the new one.

        When it returns for exit.json, all files of this role and rank are safe on the disk. Raises FullError.
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

    def url(self, key: RecordKey) -> str:
        """The address of the files of one role and rank, for people."""
        ...

    def pack(self, run_id: str) -> int:
        """Store the record of a final run in less space; the bytes freed. Reading unpacks it."""
        ...

    def remove(self, run_id: str) -> None:
        """Delete the records of all attempts; nothing happens where there are none."""
        ...


@dataclass(frozen=True, slots=True)
class RoleFiles:
    """The files of one role and rank: what the readers of ``anubis.record`` take."""

    records: Records
    key: RecordKey

    def read(self, file: str, offset: int, length: int) -> bytes:
        """See ``Records``."""
        return self.records.read(self.key, file, offset, length)

    def state(self, file: str) -> FileState | None:
        """See ``Records``."""
        return self.records.state(self.key, file)


def sample_blocks(record: "Record") -> list[SampleBlock]:
    """Every sample of a record, one block for each metric."""
    return [
        SampleBlock(
            metric=metric,
            units=columns.units,
            values=columns.values,
            times_s=columns.times_s,
            steps=columns.steps,
            repeats=columns.repeats,
        )
        for metric, columns in record.samples().items()
    ]
