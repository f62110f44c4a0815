"""Reads the file ``lines``: the arrival times of the bytes of stdout, stderr and emit."""

from __future__ import annotations

from struct import Struct

from anubis.record.index_writer import CHUNK, END, ENTRY_BYTES, ENTRY_FORMAT, HEADER
from anubis.record.layout import LINES, STREAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator, Sequence

    from anubis.record.files import Files

_ENTRY = Struct(ENTRY_FORMAT)


def entries(files: Files, start: int = len(HEADER), most: int = 4096) -> list[tuple[int, int, int, int, int]]:
    """Up to ``most`` complete entries after a byte offset: end offset, UTC ns, repeat, stream, kind."""
    data = files.read(LINES, start, most * ENTRY_BYTES)
    return list(_ENTRY.iter_unpack(data[: len(data) - len(data) % ENTRY_BYTES]))


def is_complete(files: Files) -> bool:
    """Whether the streams of the record can no longer grow."""
    state = files.state(LINES)
    if state is None:
        return False
    whole = (state.size_bytes - len(HEADER)) // ENTRY_BYTES
    last = entries(files, len(HEADER) + max(0, whole - 1) * ENTRY_BYTES)
    return bool(last) and last[-1][4] == END


class Arrivals:
    """Arrivals of bytes on some streams, also while the record is being written: each call returns the new ones."""

    def __init__(self, files: Files, streams: Sequence[str] = STREAMS) -> None:
        self._files = files
        self._streams = streams
        self._at = len(HEADER)

    def new(self) -> Iterator[tuple[str, int, int, int]]:
        """(stream, end offset, UTC ns, repeat) in order of arrival: all bytes before the offset had arrived by then."""
        while True:
            part = entries(self._files, self._at)
            self._at += len(part) * ENTRY_BYTES
            for end, time_ns, repeat, code, kind in part:
                if kind == CHUNK and code < len(STREAMS) and STREAMS[code] in self._streams:
                    yield STREAMS[code], end, time_ns, repeat
            if not part:
                return
