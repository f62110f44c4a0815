"""A file that is being fetched in parts, and which parts of it are complete.

The parts survive the process: the next one fetches only what is missing. They do not survive the machine, because data
that were not written to the disk may be lost while the list of parts was written.
"""

import json
import os
from pathlib import Path

from anubis.datasets.cache_folder import boot_id
from anubis.record import access

_SMALLEST, _LARGEST = 1 << 20, 16 << 20
#: Number of parts into which a file is divided if their size permits it.
_PARTS = 256


def part_bytes(size_bytes: int) -> int:
    """The size of the parts of a file."""
    return min(max(size_bytes // _PARTS, _SMALLEST), _LARGEST)


class PartialFile:
    """The parts of a file at ``path``; the list of complete ones is in ``path`` with the suffix ``.parts``."""

    def __init__(self, path: Path, *, size_bytes: int, identity: str) -> None:
        """Parts of an earlier process are kept if it fetched the same content: the same ``identity``, not empty."""
        self.size_bytes = size_bytes
        self.part_bytes = part_bytes(size_bytes)
        self.count = -(-size_bytes // self.part_bytes)
        self._list = Path(f"{path}.parts")
        header = json.dumps([identity, size_bytes, self.part_bytes, boot_id()]).encode() + b"\n"
        flags = self._flags_of(header) if identity and path.exists() else None
        self.resumed = flags is not None and any(flags)
        self._flags = flags or bytearray(self.count)
        self._file = access.create(str(path), os.O_RDWR)
        if flags is None:
            os.ftruncate(self._file, 0)
            self._list.unlink(missing_ok=True)
        self._listing = access.create(str(self._list), os.O_RDWR)
        os.pwrite(self._listing, header + bytes(self._flags), 0)
        self._base = len(header)

    def _flags_of(self, header: bytes) -> bytearray | None:
        try:
            content = self._list.read_bytes()
        except FileNotFoundError:
            return None
        if not content.startswith(header) or len(content) != len(header) + self.count:
            return None
        return bytearray(content[len(header) :])

    def is_complete(self, index: int) -> bool:
        return self._flags[index] == 1

    def missing(self) -> list[int]:
        """The parts that are not complete."""
        return [index for index, flag in enumerate(self._flags) if not flag]

    def range_of(self, index: int) -> tuple[int, int]:
        """First byte of a part, and the byte after its last one."""
        start = index * self.part_bytes
        return start, min(start + self.part_bytes, self.size_bytes)

    def write(self, data: bytes, offset: int) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._file, view, offset)
            view, offset = view[written:], offset + written

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self._file, length, offset)

    def completed(self, index: int) -> None:
        """Note that all bytes of a part are written."""
        os.pwrite(self._listing, b"\1", self._base + index)
        self._flags[index] = 1

    def discard(self) -> None:
        """Forget all parts."""
        os.ftruncate(self._listing, 0)

    def close(self, *, finished: bool) -> None:
        os.close(self._file)
        os.close(self._listing)
        if finished:
            self._list.unlink(missing_ok=True)
