"""Streams of records in pieces of whole lines, with the arrival times of the lines."""

from collections.abc import Iterator
from dataclasses import dataclass

from anubis.record import time_index
from anubis.record.files import Files
from anubis.record.index_writer import CHUNK, ENTRY_BYTES, HEADER
from anubis.record.layout import STREAMS

#: Usual size of a piece, bytes.
PIECE_BYTES = 256 << 10
#: A longer line is cut; it counts as several lines.
LONGEST_LINE = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Whole lines of a stream."""

    #: Offset of the first byte.
    start: int
    #: Number of the first line, from 1.
    line: int
    data: bytes

    @property
    def end(self) -> int:
        """Offset after the last byte."""
        return self.start + len(self.data)

    @property
    def lines(self) -> int:
        """Number of lines; the last one may lack its end."""
        return self.data.count(b"\n") + (not self.data.endswith(b"\n"))


def pieces(files: Files, stream: str, *, start: int = 0, line: int = 1) -> Iterator[Piece]:
    """A stream from the start of a line on. The last piece of a running benchmark may end in an incomplete line."""
    while data := _whole_lines(files, stream, start):
        piece = Piece(start=start, line=line, data=data)
        yield piece
        if (
            not data.endswith(b"\n") and len(data) < LONGEST_LINE
        ):  # the rest of this line may arrive meanwhile
            return
        start, line = piece.end, line + piece.lines


def _whole_lines(files: Files, stream: str, start: int) -> bytes:
    size = PIECE_BYTES
    while True:
        data = files.read(stream, start, size)
        cut = data.rfind(b"\n") + 1
        if len(data) < size or size >= LONGEST_LINE:  # the end of the stream, or of a line that is too long
            return data if len(data) < size or not cut else data[:cut]
        if cut:
            return data[:cut]
        size *= 2


class Arrivals:
    """The arrival times of the lines of one stream, asked for in the order of the stream."""

    def __init__(self, files: Files, stream: str, entry: int = 0) -> None:
        """``entry``: number of an entry of the time index before which no line that is asked for arrived."""
        self._files = files
        self._stream = stream
        self._read = entry
        #: (number, end offset, UTC ns) of known entries of the stream, the next one last.
        self._known: list[tuple[int, int, int]] = []
        self._end = False
        self._rest_s: float | None = None

    @property
    def entry(self) -> int:
        """The number of the entry at which a later lookup can begin."""
        return self._known[-1][0] if self._known else self._read

    def of(self, end: int) -> float:
        """When all bytes before this offset had arrived, UTC seconds. Bytes without an entry: the last change of the stream."""
        while True:
            while self._known and self._known[-1][1] < end:
                self._known.pop()
            if self._known:
                return self._known[-1][2] / 1e9
            if self._end:
                return self._rest()
            self._more()

    def span(self, first: int, last: int) -> tuple[float, float]:
        """The earliest and the latest of the times of two offsets and all between them: a clock may be set back."""
        low = high = self.of(first)
        while self._known and self._known[-1][1] < last:
            time_s = self.of(self._known[-1][1] + 1)
            low, high = min(low, time_s), max(high, time_s)
        return low, high

    def _more(self) -> None:
        code = STREAMS.index(self._stream)
        found = time_index.entries(self._files, len(HEADER) + self._read * ENTRY_BYTES)
        self._known = [
            (self._read + at, end, time_ns)
            for at, (end, time_ns, _, of, kind) in enumerate(found)
            if kind == CHUNK and of == code
        ][::-1]
        self._read += len(found)
        self._end = not found

    def _rest(self) -> float:
        if self._rest_s is None:
            state = self._files.state(self._stream)
            self._rest_s = state.modified_s if state else 0.0
        return self._rest_s
