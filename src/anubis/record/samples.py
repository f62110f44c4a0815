"""The file ``samples``: every measured value of the record, in columns, so that loading takes nanoseconds per sample.

After a header of 16 bytes it is a sequence of frames: kind uint8, three zero bytes, length uint32, then as many bytes.
Little endian throughout.

=========== =====================================================================================================
SERIES (1)  JSON ``{"id": n, "metric": ..., "units": ..., "labels": {...}}``; comes before the first block of its id
BLOCK (2)   id uint32, count n uint32; then n values float64, n times float64 (UTC s), n steps int64, n repeats int32
STATE (3)   JSON: the read positions of the extractor; it may rewrite the frames after the last STATE
=========== =====================================================================================================
"""

from __future__ import annotations

import json
import sys
from array import array
from struct import Struct

from anubis.record.files import READ_BYTES, reader
from anubis.record.layout import SAMPLES
from anubis.record.units import NO_UNITS, conflict, ratio
from anubis.record.validation import DamagedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Iterator, Mapping, NamedTuple

    from anubis.record.files import Files
else:
    from collections import namedtuple

HEADER = b"anubis samples 1"
SERIES, BLOCK, STATE = 1, 2, 3
#: The value of a missing step.
NO_STEP = -(2**63)

_FRAME = Struct("<BxxxI")
_BLOCK = Struct("<II")
_ROW_BYTES = 8 + 8 + 8 + 4

if TYPE_CHECKING:

    class Sample(NamedTuple):
        """One measured value."""

        metric: str
        value: float
        units: str
        time_s: float
        step: int | None
        repeat: int
        phase: str
        labels: Mapping[str, str]

else:
    Sample = namedtuple("Sample", "metric value units time_s step repeat phase labels")
    Sample.__doc__ = (
        "One measured value; ``phase`` is warmup or measure, ``step`` is None if the sample has none."
    )


class Columns:
    """Samples of one metric, as columns of equal length, in order of arrival."""

    __slots__ = ("metric", "repeats", "steps", "times_s", "units", "values")

    def __init__(self, metric: str, units: str) -> None:
        self.metric = metric
        self.units = units
        self.values = array("d")
        #: UTC seconds.
        self.times_s = array("d")
        #: NO_STEP where the sample has none.
        self.steps = array("q")
        #: From 0 for measured executions, negative for warm-ups.
        self.repeats = array("i")

    def __len__(self) -> int:
        return len(self.values)

    def append(self, value: float, time_s: float, step: int, repeat: int) -> None:
        """Append one sample."""
        self.values.append(value)
        self.times_s.append(time_s)
        self.steps.append(step)
        self.repeats.append(repeat)

    def to_bytes(self) -> bytes:
        """The columns in sequence, little endian."""
        return b"".join(_swapped(column).tobytes() for column in self._columns())

    def extend_from(self, data: memoryview, count: int, fraction: tuple[int, int] = (1, 1)) -> None:
        """Append ``count`` rows of data written by ``to_bytes``, with their values multiplied by a fraction."""
        at, start = 0, len(self.values)
        for column in self._columns():
            size = count * column.itemsize
            more = array(column.typecode)
            more.frombytes(data[at : at + size])
            column.extend(_swapped(more))
            at += size
        if fraction != (1, 1):
            above, below = fraction
            for place in range(start, len(self.values)):
                self.values[place] = self.values[place] * above / below

    def _columns(self) -> tuple[array[float], array[float], array[int], array[int]]:
        return self.values, self.times_s, self.steps, self.repeats


def _swapped(column: array) -> array:  # type: ignore[type-arg]  # of float or int
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column


def frame(kind: int, payload: bytes) -> bytes:
    """One frame of the file."""
    return _FRAME.pack(kind, len(payload)) + payload


def block(number: int, columns: Columns) -> bytes:
    """The frame of a block of the series with this id."""
    return frame(BLOCK, _BLOCK.pack(number, len(columns)) + columns.to_bytes())


class SampleFile:
    """Reads a record's samples, also while they are being written: each call returns the new samples.

    The methods raise DamagedError for content that no extractor writes.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._offset = 0
        #: Series by id: metric, units, labels.
        self._series: dict[int, tuple[str, str, dict[str, str]]] = {}
        #: Metric -> its first unit.
        self._units: dict[str, str] = {}
        #: The frames read so far end with the state of an extractor that has read the whole output.
        self.complete = False
        #: Metric -> why some of its values are left out: their unit cannot be converted to that of the others.
        self.conflicts: dict[str, str] = {}

    def read_new(self) -> dict[str, Columns]:
        """Columns of the samples since the last call, by metric, in the first unit of the metric.

        A value without a unit is in the unit of the others. Labels are left out.
        """
        columns: dict[str, Columns] = {}
        for number, count, data in self._blocks():
            metric, units, _ = self._series[number]
            if self._units.get(metric, NO_UNITS) == NO_UNITS:
                self._units[metric] = units
            to = self._units[metric]
            fraction = (1, 1) if units == NO_UNITS else ratio(units, to)
            if fraction is None:
                self.conflicts[metric] = conflict(metric, to, units)
                continue
            if metric not in columns:
                columns[metric] = Columns(metric, to)
            columns[metric].units = to
            columns[metric].extend_from(data, count, fraction)
        return columns

    def iterate(self) -> Iterator[Sample]:
        """The samples, in order of arrival within each block."""
        for number, count, data in self._blocks():
            metric, units, labels = self._series[number]
            part = Columns(metric, units)
            part.extend_from(data, count)
            for value, time_s, step, repeat in zip(part.values, part.times_s, part.steps, part.repeats):
                phase = "warmup" if repeat < 0 else "measure"
                yield Sample(
                    metric, value, units, time_s, None if step == NO_STEP else step, repeat, phase, labels
                )

    def _blocks(self) -> Iterator[tuple[int, int, memoryview]]:
        if not self._offset and not self._starts():
            return
        for kind, payload in frames(reader(self._files, SAMPLES, self._offset)):
            self._offset += _FRAME.size + len(payload)
            self.complete = False
            try:
                if kind == SERIES:
                    self._declare(json.loads(payload))
                elif kind == BLOCK:
                    yield self._block(memoryview(payload))
                elif kind == STATE:
                    state = json.loads(payload)
                    self.complete = isinstance(state, dict) and state.get("complete") is True
                else:
                    raise ValueError(f"a frame has the kind {kind}")
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                raise DamagedError(f"{SAMPLES} is damaged before byte {self._offset}: {error!r}") from None

    def _starts(self) -> bool:
        """Whether the file has its header; False while it is being created. Raises DamagedError."""
        start = self._files.read(SAMPLES, 0, len(HEADER))
        if not HEADER.startswith(start):
            raise DamagedError(f"{SAMPLES} does not start with its header")
        if len(start) < len(HEADER):
            return False
        self._offset = len(HEADER)
        return True

    def _declare(self, facts: dict[str, Any]) -> None:
        number, metric, units, labels = (facts[name] for name in ("id", "metric", "units", "labels"))
        texts = [metric, units, *labels, *(labels[name] for name in labels)]
        if not all(isinstance(text, str) for text in texts) or not metric:
            raise ValueError("a name is not text")
        self._series[number] = metric, units, labels

    def _block(self, payload: memoryview) -> tuple[int, int, memoryview]:
        if len(payload) < _BLOCK.size:
            raise ValueError("a block is too short")
        number, count = _BLOCK.unpack_from(payload)
        if len(payload) != _BLOCK.size + count * _ROW_BYTES or number not in self._series:
            raise ValueError("a block has a wrong size or an unknown series")
        return number, count, payload[_BLOCK.size :]


def frames(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Complete frames from the current position: kind and payload. A truncated frame ends the sequence."""
    while True:
        head = file.read(_FRAME.size)
        if len(head) < _FRAME.size:
            return
        kind, length = _FRAME.unpack(head)
        payload = _exactly(file, length)
        if payload is None:
            return
        yield kind, payload


def _exactly(file: BinaryIO, length: int) -> bytes | None:
    """Exactly so many bytes; None if there are fewer. A damaged length allocates at most the size of the file."""
    if length <= READ_BYTES:
        data = file.read(length)
        return data if len(data) == length else None
    pieces = bytearray()
    while len(pieces) < length:
        piece = file.read(min(READ_BYTES, length - len(pieces)))
        if not piece:
            return None
        pieces += piece
    return bytes(pieces)


def settled_end(files: Files, start: int, most: int | None = None) -> int:
    """The end of the last STATE frame at or after ``start`` (an earlier end, or 0): the extractor does not rewrite the
    frames before it. With ``most``, the end of the first one that is at least so many bytes later, if there is one.
    """
    end, at = start, max(start, len(HEADER))
    for kind, length in _heads(files, at):
        at += _FRAME.size + length
        if kind == STATE:
            end = at
            if most is not None and end >= start + most:
                break
    return end


def _heads(files: Files, at: int) -> Iterator[tuple[int, int]]:
    """Kind and payload length of every complete frame after an offset."""
    state = files.state(SAMPLES)
    size = state.size_bytes if state else 0
    while at + _FRAME.size <= size:
        head = files.read(SAMPLES, at, _FRAME.size)
        if len(head) < _FRAME.size:  # the file was truncated meanwhile
            return
        kind, length = _FRAME.unpack(head)
        at += _FRAME.size + length
        if at <= size:
            yield kind, length


def load(files: Files) -> dict[str, Columns]:
    """All samples of a record, by metric; empty when there are none."""
    return SampleFile(files).read_new()


def iterate(files: Files) -> Iterator[Sample]:
    """All samples of a record, one by one, with their labels."""
    return SampleFile(files).iterate()
