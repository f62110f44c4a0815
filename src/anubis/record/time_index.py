"""Reading ``lines``: when the bytes of stdout, stderr and emit arrived."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from struct import Struct

from anubis.record.index_writer import CHUNK, END, ENTRY_BYTES, ENTRY_FORMAT, HEADER, NAME, STREAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator

_ENTRY = Struct(ENTRY_FORMAT)


def entries(record: str, start: int = len(HEADER), most: int = 4096) -> list[tuple[int, int, int, int, int]]:
    """Up to ``most`` complete entries from a byte offset on: end offset, UTC ns, repeat, stream, kind."""
    try:
        with open(os.path.join(record, NAME), "rb") as file:
            file.seek(start)
            data = file.read(most * ENTRY_BYTES)
    except FileNotFoundError:
        return []
    return list(_ENTRY.iter_unpack(data[: len(data) - len(data) % ENTRY_BYTES]))


def is_complete(record: str) -> bool:
    """Whether the streams of the record will not grow any more."""
    try:
        size = os.path.getsize(os.path.join(record, NAME))
    except FileNotFoundError:
        return False
    whole = (size - len(HEADER)) // ENTRY_BYTES
    last = entries(record, len(HEADER) + max(0, whole - 1) * ENTRY_BYTES)
    return bool(last) and last[-1][4] == END


class TimeIndex:
    """The arrival times of one stream, loaded once."""

    def __init__(self, record: str, stream: str = "stdout") -> None:
        code = STREAMS.index(stream)
        self._path = os.path.join(record, stream)
        self._ends = array("q")
        self._times = array("q")
        self._repeats = array("i")
        at = len(HEADER)
        while True:
            part = entries(record, at)
            for end, time_ns, repeat, entry_stream, kind in part:
                if entry_stream == code and kind == CHUNK:
                    self._ends.append(end)
                    self._times.append(time_ns)
                    self._repeats.append(repeat)
            at += len(part) * ENTRY_BYTES
            if not part:
                return

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def size(self) -> int:
        """Bytes whose time is known."""
        return self._ends[-1] if self._ends else 0

    def time_ns(self, offset: int) -> int | None:
        """When the byte at this offset arrived, UTC ns; None when the index does not reach so far."""
        at = bisect_right(self._ends, offset)
        return self._times[at] if at < len(self._times) else None

    def repeat(self, offset: int) -> int | None:
        """Which execution wrote the byte at this offset; negative: a warm-up."""
        at = bisect_right(self._ends, offset)
        return self._repeats[at] if at < len(self._repeats) else None

    def lines(self, start: int = 0, *, longest: int = 1 << 20) -> Iterator[tuple[int, int | None, bytes]]:
        """Lines from a byte offset on: offset, UTC ns at which the end of the line arrived, bytes with their line end.

        The last line may be incomplete; longer lines than ``longest`` come in pieces.
        """
        with open(self._path, "rb") as file:
            file.seek(start)
            at = start
            while True:
                line = file.readline(longest)
                if not line:
                    return
                yield at, self.time_ns(at + len(line) - 1), line
                at += len(line)
