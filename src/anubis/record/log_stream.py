"""Merges the streams of a record in order of arrival, by the time index."""

from __future__ import annotations

import heapq
import json
import time
from functools import lru_cache

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
    return f"{_second(whole)}.{rest // 1000:06d}Z ".encode() + line + b"\n"


@lru_cache(16)
def _second(time_s: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time_s))


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
        self._begun = {stream: bytearray() for stream in streams}

    def copy(self, out: BinaryIO, *, last: bool) -> None:
        """Write the output since the last call; with ``last`` also bytes without an index entry and incomplete lines."""
        if self._line is not None:
            out.writelines(
                self._line(stream, time_ns, line) for time_ns, stream, line in self.lines(last=last)
            )
            return
        for stream, end, _ in self._chunks(last=last):
            out.writelines(self._read(stream, end))

    def lines(self, *, last: bool) -> Iterator[tuple[int, str, bytes]]:
        """(UTC ns, stream, line without its end) of the output since the last call, in order of arrival; see ``copy``."""
        for stream, end, time_ns in self._chunks(last=last):
            for data in self._read(stream, end):
                begun, (first, *rest) = self._begun[stream], data.split(b"\n")
                begun += first
                if not rest:
                    continue
                lines = [bytes(begun), *rest[:-1]]
                begun[:] = rest[-1]  # before the caller has the lines, because it may stop after any of them
                for line in lines:
                    yield time_ns, stream, line
        for stream in self._streams if last else ():
            if self._begun[stream]:
                line, self._begun[stream] = bytes(self._begun[stream]), bytearray()
                state = self._files.state(stream)
                yield int(state.modified_s * 1e9) if state else time.time_ns(), stream, line

    def _chunks(self, *, last: bool) -> Iterator[tuple[str, int, int]]:
        """(stream, end offset, UTC ns) since the last call, with ``last`` also of bytes without an index entry."""
        yield from self._arrived()
        for stream in self._streams if last else ():
            state = self._files.state(stream)
            if state:
                yield stream, state.size_bytes, int(state.modified_s * 1e9)

    def _arrived(self) -> Iterator[tuple[str, int, int]]:
        """(stream, end offset, UTC ns) of new chunks; without a line format, adjacent chunks of a stream are joined."""
        waiting: tuple[str, int, int] | None = None
        for stream, end, time_ns, _repeat in self._arrivals.new():
            if waiting and (self._line or waiting[0] != stream):
                yield waiting
            waiting = (stream, end, time_ns)
        if waiting:
            yield waiting

    def _read(self, stream: str, end: int) -> Iterator[bytes]:
        """The bytes of a stream since the last call, up to an offset."""
        while self._copied[stream] < end:
            start = self._copied[stream]
            data = self._files.read(stream, start, min(READ_BYTES, end - start))
            if not data:
                break
            self._copied[stream] = start + len(data)
            yield data


class MergedLogs:
    """Copies the output of several replicas in order of arrival. Each line begins with the name of its replica."""

    def __init__(self, streams: Sequence[str], *, line: LineFormat | None = None) -> None:
        """``line``: how a line is written after the name, or, if it is ``as_json``, with role and rank in its object."""
        self._streams = streams
        self._line = line
        self._logs: dict[tuple[str, int], LogStream] = {}

    def add(self, role: str, rank: int, files: Files) -> None:
        """Include a replica; does nothing if it is included already."""
        if (role, rank) not in self._logs:
            self._logs[role, rank] = LogStream(files, self._streams, line=with_time)

    @property
    def count(self) -> int:
        """Number of replicas."""
        return len(self._logs)

    def copy(self, out: BinaryIO, *, last: bool) -> None:
        """Write the lines since the last call; see ``LogStream.copy``."""
        every = [self._named(*key, logs.lines(last=last)) for key, logs in self._logs.items()]
        out.writelines(
            self.written(role, rank, stream, time_ns, text)
            for time_ns, role, rank, stream, text in heapq.merge(*every, key=lambda row: row[0])
        )

    @staticmethod
    def _named(
        role: str, rank: int, lines: Iterator[tuple[int, str, bytes]]
    ) -> Iterator[tuple[int, str, int, str, bytes]]:
        for time_ns, stream, line in lines:
            yield time_ns, role, rank, stream, line

    def written(self, role: str, rank: int, stream: str, time_ns: int, line: bytes) -> bytes:
        """A line after the name of its replica."""
        if self._line is as_json:
            plain = {"role": role, "rank": rank, **json.loads(as_json(stream, time_ns, line))}
            return json.dumps(plain).encode() + b"\n"
        rest = self._line(stream, time_ns, line) if self._line else line + b"\n"
        return f"[{role} {rank}] ".encode() + rest
