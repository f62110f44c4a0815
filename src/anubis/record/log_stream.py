"""Merges the streams of a record in order of arrival, by the time index."""

from __future__ import annotations

import json
import time

from anubis.record.files import READ_BYTES
from anubis.record.time_index import Arrivals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, Callable, Iterator, Sequence

    from anubis.record.files import Files

    #: Stream, UTC nanoseconds of the arrival, line without its end -> the bytes to write.
    LineFormat = Callable[[str, int, bytes], bytes]


def with_time(_stream: str, time_ns: int, line: bytes) -> bytes:
    """The line after its time of arrival."""
    whole, rest = divmod(time_ns, 1_000_000_000)
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
    return f"{moment}.{rest // 1000:06d}Z ".encode() + line + b"\n"


def as_json(stream: str, time_ns: int, line: bytes) -> bytes:
    """A JSON object in one line; bytes that are not UTF-8 are replaced."""
    plain = {"time_s": time_ns / 1e9, "stream": stream, "line": line.decode("utf-8", "replace")}
    return json.dumps(plain).encode() + b"\n"


class LogStream:
    """Copies the output captured since the last call. The record may still grow, or not exist yet."""

    def __init__(self, files: Files, streams: Sequence[str], *, line: LineFormat | None = None) -> None:
        """``line``: how a line is written; None: the captured bytes, unchanged."""
        self._files = files
        self._streams = streams
        self._line = line
        self._arrivals = Arrivals(files, streams)
        #: Offset up to which each stream was copied.
        self._copied = dict.fromkeys(streams, 0)
        #: The start of an incomplete line of each stream; used only with a line format.
        self._begun = dict.fromkeys(streams, b"")

    def copy(self, out: BinaryIO, *, last: bool) -> None:
        """Write the output since the last call; with ``last`` also bytes without an index entry and incomplete lines."""
        for stream, end, time_ns in self._arrived():
            self._copy(stream, end, time_ns, out)
        if not last:
            return
        for stream in self._streams:
            state = self._files.state(stream)
            if state:
                self._copy(stream, state.size_bytes, int(state.modified_s * 1e9), out)
            if self._begun[stream]:
                self._write(stream, self._begun[stream], time.time_ns(), out)
                self._begun[stream] = b""

    def _arrived(self) -> Iterator[tuple[str, int, int]]:
        """(stream, end offset, UTC ns) of new chunks; without a line format, adjacent chunks of a stream are joined."""
        waiting: tuple[str, int, int] | None = None
        for stream, end, time_ns, _repeat in self._arrivals.new():
            if waiting and (self._line or waiting[0] != stream):
                yield waiting
            waiting = (stream, end, time_ns)
        if waiting:
            yield waiting

    def _copy(self, stream: str, end: int, time_ns: int, out: BinaryIO) -> None:
        start = self._copied[stream]
        while start < end:
            data = self._files.read(stream, start, min(READ_BYTES, end - start))
            if not data:
                break
            start += len(data)
            if self._line:
                self._write_lines(stream, data, time_ns, out)
            else:
                out.write(data)
        self._copied[stream] = start

    def _write_lines(self, stream: str, data: bytes, time_ns: int, out: BinaryIO) -> None:
        *lines, self._begun[stream] = (self._begun[stream] + data).split(b"\n")
        for line in lines:
            self._write(stream, line, time_ns, out)

    def _write(self, stream: str, line: bytes, time_ns: int, out: BinaryIO) -> None:
        assert self._line is not None
        out.write(self._line(stream, time_ns, line))
