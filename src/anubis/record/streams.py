"""One stream of the record: moves bytes from a pipe to a file and writes their arrival times into the time index."""

from __future__ import annotations

import fcntl
import os

from anubis.record import access
from anubis.record.index_writer import CHUNK, GAP, IndexFile
from anubis.record.layout import STREAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Filter(Protocol):
        """Changes the bytes of a stream; it may return them later than it gets them."""

        def feed(self, data: bytes) -> bytes: ...

        def finish(self) -> bytes: ...


#: Requested size of a pipe, and bytes read at once. 1 MiB is the limit for unprivileged users on Linux (fs.pipe-max-size).
PIPE_BYTES = 1 << 20
#: A stream that has grown by more than this since its last fsync is not synced until the end: an fsync of so much data
#: blocks the writer, which is the benchmark.
FLOOD_BYTES = 1 << 24


class Spool:
    """A file of the record that only grows. Bytes that cannot be written are counted and dropped, because a full disk must
    not block the benchmark.
    """

    def __init__(self, record: str, code: int, index: IndexFile, masked: Filter | None = None) -> None:
        self.code = code
        self._masked = masked
        self.name = STREAMS[code]
        self._index = index
        self.file = access.create(f"{record}/{self.name}", os.O_WRONLY | os.O_APPEND)
        #: Bytes in the file, bytes that were synced to the disk, and bytes that could not be written.
        self.size = os.fstat(self.file).st_size
        self.safe = self.size
        self.lost = 0

    def take(self, pipe: int, buffer: memoryview, time_ns: int, repeat: int) -> int:
        """Move up to one buffer from the pipe to the file; returns the number of bytes, 0 at the end, -1 without data."""
        try:
            count = os.readv(pipe, [buffer])
        except BlockingIOError:
            return -1
        if count:
            data = buffer[:count]
            self._store(memoryview(self._masked.feed(bytes(data))) if self._masked else data, time_ns, repeat)
        return count

    def finish(self, time_ns: int, repeat: int) -> None:
        """Write what is held back at the end of an execution."""
        if self._masked:
            self._store(memoryview(self._masked.finish()), time_ns, repeat)

    def _store(self, data: memoryview, time_ns: int, repeat: int) -> None:
        if not data:  # all of it is held back
            return
        lost = self.lost
        self._write(data)
        self._index.note(self.code, CHUNK, self.size, time_ns, repeat)
        if self.lost > lost:
            self._index.note(self.code, GAP, self.size, time_ns, repeat)

    def _write(self, data: memoryview) -> None:
        while data:
            try:
                written = os.write(self.file, data)
            except OSError:  # ENOSPC, EDQUOT, EFBIG, EIO: these bytes are lost
                self.lost += len(data)
                return
            self.size += written
            data = data[written:]


def open_pipe() -> tuple[int, int]:
    """Create a pipe of the largest allowed size; returns its reading end (non-blocking) and writing end."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    enlarge(reading)
    return reading, writing


def enlarge(pipe: int) -> None:
    """Set the size of a pipe to 1 MiB, so that the benchmark can write for 10 ms without waiting for the reader."""
    try:
        # 1031: Python 3.8 and 3.9 do not define F_SETPIPE_SZ.
        fcntl.fcntl(pipe, getattr(fcntl, "F_SETPIPE_SZ", 1031), PIPE_BYTES)
    except OSError:  # not Linux, or the user's quota of pipe memory is exhausted: a small pipe works too
        pass
