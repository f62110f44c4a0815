"""Appends at an offset, so that a sender can repeat data and every byte is stored once."""

from __future__ import annotations

import fcntl
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable


class GapError(Exception):
    """Bytes before the offset are missing. The sender must continue at ``expected``."""

    def __init__(self, expected: int, offset: int) -> None:
        super().__init__(f"offset {offset} is beyond the end of the file; expected at most {expected}")
        self.expected = expected


class ConflictError(Exception):
    """The bytes at this offset are already stored, and they differ."""


def unstored(size: int, offset: int, data: bytes, read: Callable[[int, int], bytes]) -> bytes:
    """The part of ``data`` that a file of ``size`` bytes does not have; ``read(offset, length)`` returns stored bytes.

    Raises GapError and ConflictError.
    """
    if offset > size:
        raise GapError(size, offset)
    repeated = min(size - offset, len(data))
    if repeated and read(offset, repeated) != data[:repeated]:
        raise ConflictError(f"other bytes are stored between offset {offset} and {offset + repeated}")
    return data[repeated:]


def append(opened: int, offset: int, data: bytes) -> int:
    """Append to a file descriptor that is open for reading and writing; returns the new size.

    Locks the file against other appenders meanwhile. If a write fails, the bytes written before stay, and the sender
    continues after them.
    """
    fcntl.flock(opened, fcntl.LOCK_EX)
    try:
        size = os.fstat(opened).st_size
        rest = memoryview(unstored(size, offset, data, lambda at, length: os.pread(opened, length, at)))
        while rest:
            written = os.pwrite(opened, rest, size)
            size += written
            rest = rest[written:]
        return size
    finally:
        fcntl.flock(opened, fcntl.LOCK_UN)
