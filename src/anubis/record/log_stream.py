"""Pours the streams of a record in the order in which their bytes arrived, as the time index tells it."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct
from typing import BinaryIO

from anubis.record.index_writer import CHUNK, ENTRY_FORMAT, HEADER, NAME, STREAMS

_ENTRY = Struct(ENTRY_FORMAT)
_READ_BYTES = 1 << 20


class Spooled:
    """What was captured so far, and how much of it was poured already. A record may still grow, or not exist yet."""

    def __init__(self, record: Path, streams: Sequence[str], *, timestamps: bool) -> None:
        self._record = record
        self._streams = streams
        self._timestamps = timestamps
        self._index_at = len(HEADER)
        self._poured = dict.fromkeys(streams, 0)
        #: The beginning of a line whose end has not arrived; kept only when lines are stamped.
        self._begun = dict.fromkeys(streams, b"")

    def pour(self, out: BinaryIO, *, last: bool) -> None:
        """Write what arrived since the last call; with ``last`` also what no index entry covers, and unended lines."""
        for stream, end, time_ns in self._arrived():
            self._copy(stream, end, time_ns, out)
        if not last:
            return
        for stream in self._streams:
            file = self._record / stream
            if file.exists():
                stat = file.stat()
                self._copy(stream, stat.st_size, stat.st_mtime_ns, out)
            if self._begun[stream]:
                self._stamp(self._begun[stream] + b"\n", time.time_ns(), out)
                self._begun[stream] = b""

    def _arrived(self) -> Iterator[tuple[str, int, int]]:
        """(stream, end offset, UTC ns) of every index entry that is new and wanted."""
        try:
            with (self._record / NAME).open("rb") as file:
                file.seek(self._index_at)
                content = file.read()
        except FileNotFoundError:
            return
        whole = len(content) // _ENTRY.size * _ENTRY.size
        self._index_at += whole
        for end, time_ns, _repeat, code, kind in _ENTRY.iter_unpack(content[:whole]):
            if kind == CHUNK and STREAMS[code] in self._poured:
                yield STREAMS[code], end, time_ns

    def _copy(self, stream: str, end: int, time_ns: int, out: BinaryIO) -> None:
        start = self._poured[stream]
        if end <= start:
            return
        with (self._record / stream).open("rb") as file:
            file.seek(start)
            while start < end and (data := file.read(min(_READ_BYTES, end - start))):
                start += len(data)
                if self._timestamps:
                    self._stamp_lines(stream, data, time_ns, out)
                else:
                    out.write(data)
        self._poured[stream] = start

    def _stamp_lines(self, stream: str, data: bytes, time_ns: int, out: BinaryIO) -> None:
        *lines, self._begun[stream] = (self._begun[stream] + data).split(b"\n")
        for line in lines:
            self._stamp(line + b"\n", time_ns, out)

    def _stamp(self, line: bytes, time_ns: int, out: BinaryIO) -> None:
        whole, rest = divmod(time_ns, 1_000_000_000)
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
        out.write(f"{moment}.{rest // 1000:06d}Z ".encode() + line)
