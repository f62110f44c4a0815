"""One stream of the record: bytes go from a pipe to a file, and the index says when."""

from __future__ import annotations

import fcntl
import os

from anubis.record.index_writer import CHUNK, GAP, STREAMS, IndexFile

#: Bytes asked of a pipe, and read from it at once. 1 MiB is what Linux grants everybody (fs.pipe-max-size).
PIPE_BYTES = 1 << 20
#: A stream that grew by more since it was safe is left to the kernel until the end: writing a flood through to the disk at
#: once stalls whoever adds to it, and that would be the benchmark.
FLOOD_BYTES = 1 << 24


class Spool:
    """A file of the record that only grows. What the disk refuses is counted, and the pipe is drained all the same:
    a full disk must never stop the benchmark in the middle of a write.
    """

    def __init__(self, record: str, code: int, index: IndexFile) -> None:
        self.code = code
        self.name = STREAMS[code]
        self._index = index
        self.file = os.open(f"{record}/{self.name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        #: Bytes in the file, how many of them the disk was told to keep safe, and bytes that could not be written.
        self.size = os.fstat(self.file).st_size
        self.safe = self.size
        self.lost = 0

    def take(self, pipe: int, buffer: memoryview, time_ns: int, repeat: int) -> int:
        """Move what the pipe holds, up to one buffer; how many bytes it was, 0 at its end."""
        try:
            count = os.readv(pipe, [buffer])
        except BlockingIOError:
            return -1
        if count:
            lost = self.lost
            self._write(buffer[:count])
            self._index.note(self.code, CHUNK, self.size, time_ns, repeat)
            if self.lost > lost:
                self._index.note(self.code, GAP, self.size, time_ns, repeat)
        return count

    def _write(self, data: memoryview) -> None:
        while data:
            try:
                written = os.write(self.file, data)
            except OSError:  # ENOSPC, EDQUOT, EFBIG, EIO: whatever it is, these bytes are gone
                self.lost += len(data)
                return
            self.size += written
            data = data[written:]


def open_pipe() -> tuple[int, int]:
    """Reading end (never blocks) and writing end of a pipe as large as the system grants."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    enlarge(reading)
    return reading, writing


def enlarge(pipe: int) -> None:
    """Ask for a pipe of 1 MiB, so that the benchmark can write for 10 ms without waiting for its reader."""
    try:
        fcntl.fcntl(
            pipe, getattr(fcntl, "F_SETPIPE_SZ", 1031), PIPE_BYTES
        )  # 1031: Python 3.8 and 3.9 on Linux
    except OSError:  # not Linux, or this user's pipes are used up: a small pipe works too
        pass
