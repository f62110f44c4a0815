"""Objects and records in memory."""

import io
from collections.abc import Sequence
from typing import BinaryIO

from anubis.contracts.records import Append, RecordFile, RecordKey
from anubis.model.errors import AnubisError, NotFoundError
from anubis.record import appending, layout
from anubis.record.files import FileState


class FakeObjects:
    """``Objects`` in memory."""

    def __init__(self) -> None:
        self.bytes_by_key: dict[str, bytes] = {}

    def put(self, key: str, stream: BinaryIO) -> int:
        data = stream.read()
        self.bytes_by_key[key] = data
        return len(data)

    def open(self, key: str) -> BinaryIO:
        try:
            return io.BytesIO(self.bytes_by_key[key])
        except KeyError:
            raise NotFoundError(f"there is no object {key}", remedy="put it first") from None

    def url(self, key: str) -> str:
        return f"memory:{key}"


class FakeRecords:
    """``Records`` in memory."""

    def __init__(self) -> None:
        self.bytes_by_file: dict[tuple[RecordKey, str], bytes] = {}

    def append(self, key: RecordKey, file: str, offset: int, data: bytes) -> int:
        _check(key, file)
        if file in layout.REPLACED or offset < 0:
            raise ValueError(f"{file} cannot be appended to at offset {offset}")
        stored = self.bytes_by_file.get((key, file), b"")
        rest = appending.unstored(len(stored), offset, data, lambda at, length: stored[at : at + length])
        self.bytes_by_file[key, file] = stored + rest
        return len(stored) + len(rest)

    def append_all(self, appends: Sequence[Append]) -> Sequence[int | Exception]:
        sizes: list[int | Exception] = []
        for each in appends:
            if each.follows and isinstance(sizes[-1], Exception):
                sizes.append(sizes[-1])
                continue
            try:
                sizes.append(self.append(each.key, each.file, each.offset, each.data))
            except (appending.GapError, appending.ConflictError, ValueError, AnubisError) as error:
                sizes.append(error)
        return sizes

    def replace(self, key: RecordKey, file: str, data: bytes) -> None:
        _check(key, file)
        if file not in layout.REPLACED:
            raise ValueError(f"{file} cannot be replaced")
        self.bytes_by_file[key, file] = data

    def read(self, key: RecordKey, file: str, offset: int, length: int) -> bytes:
        _check(key, file)
        return self.bytes_by_file.get((key, file), b"")[offset : offset + length]

    def state(self, key: RecordKey, file: str) -> FileState | None:
        _check(key, file)
        stored = self.bytes_by_file.get((key, file))
        return None if stored is None else FileState(len(stored), 0.0)

    def list(self, run_id: str, attempt: int) -> Sequence[RecordFile]:
        _check(RecordKey(run_id, attempt))
        return [
            RecordFile(key=key, file=file, size_bytes=len(stored), modified_s=0.0)
            for (key, file), stored in sorted(self.bytes_by_file.items())
            if (key.run_id, key.attempt) == (run_id, attempt)
        ]

    def attempts(self, run_id: str) -> Sequence[int]:
        _check(RecordKey(run_id, 1))
        return sorted({key.attempt for key, _ in self.bytes_by_file if key.run_id == run_id})

    def is_pending(self, run_id: str, attempt: int) -> bool:
        _check(RecordKey(run_id, attempt))
        return False

    def url(self, key: RecordKey) -> str:
        return f"memory:{_check(key)}"

    def pack(self, run_id: str) -> int:
        _check(RecordKey(run_id, 1))
        return 0

    def remove(self, run_id: str) -> None:
        _check(RecordKey(run_id, 1))
        kept = {place: data for place, data in self.bytes_by_file.items() if place[0].run_id != run_id}
        self.bytes_by_file = kept


def _check(key: RecordKey, file: str = layout.EXIT) -> str:
    """The path of the role in a folder of records. Raises ValueError for names that no record can have."""
    layout.check_file(file)
    return layout.role_folder("", key.run_id, key.attempt, key.role, key.rank)
