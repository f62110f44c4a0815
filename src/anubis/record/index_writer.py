"""Writes the file ``lines``: the arrival times of the bytes of stdout, stderr and emit. ``time_index`` reads it.

After a header of 16 bytes it is a sequence of entries of 24 bytes, little endian: end offset int64, UTC ns int64,
repeat int32, stream uint8, kind uint8, two zero bytes. An entry means: the bytes of this stream up to the end
offset (exclusive) had arrived at that time, while that repeat ran.
"""

from __future__ import annotations

import os

from anubis.record import access
from anubis.record.layout import LINES

HEADER = b"anubis lines 1\n\0"
ENTRY_FORMAT = "<qqiBBxx"
ENTRY_BYTES = 24
#: Codes of the streams: positions in ``layout.STREAMS``.
STDOUT, STDERR, EMIT = 0, 1, 2
#: Kinds of entries: bytes arrived; bytes were lost at this offset; the record is complete (end offset: 0).
CHUNK, GAP, END = 0, 1, 2


class IndexFile:
    """Appends entries. Entries that cannot be written to a full disk are written together with the next one."""

    def __init__(self, record: str) -> None:
        self.file = access.create(f"{record}/{LINES}", os.O_WRONLY | os.O_APPEND)
        self._waiting = b"" if os.fstat(self.file).st_size else HEADER

    def note(self, stream: int, kind: int, end: int, time_ns: int, repeat: int) -> None:
        """Append an entry."""
        # On a full disk entries wait in memory, up to this size: later entries cover the same bytes.
        if len(self._waiting) < 65_536:
            self._waiting += end.to_bytes(8, "little") + time_ns.to_bytes(8, "little")
            self._waiting += repeat.to_bytes(4, "little", signed=True) + bytes((stream, kind, 0, 0))
        try:
            self._waiting = self._waiting[os.write(self.file, self._waiting) :]
        except OSError:
            pass
