"""The file ``telemetry``: the machine and the benchmark's processes, once a second.

The first line is JSON: ``{"version": 1, "period_s": 1.0, "columns": [{"name": ..., "unit": ...}, ...]}``. Then come rows of
equal size, little endian: UTC seconds as float64, then one float32 for each column. NaN: unknown.
Values are means over the interval that ends at the row's time, or the state at that time.
"""

from __future__ import annotations

import json
import re
import sys
from array import array
from math import isfinite

from anubis.record.files import reader
from anubis.record.layout import TELEMETRY
from anubis.record.validation import DamagedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anubis.record.files import Files

VERSION = 1
_LONGEST_HEADER = 1 << 20
#: Rows from which on a mean over time is known.
_FEWEST_ROWS = 2
#: A larger file is not read: three weeks have 1.8 million rows of about 200 bytes.
_LARGEST_BYTES = 1 << 29


def header(columns: list[tuple[str, str]], period_s: float) -> bytes:
    """The first line."""
    named = [{"name": name, "unit": unit} for name, unit in columns]
    return json.dumps({"version": VERSION, "period_s": period_s, "columns": named}).encode() + b"\n"


def row(time_s: float, values: list[float]) -> bytes:
    """One row."""
    time, figures = array("d", [time_s]), array("f", values)
    if sys.byteorder == "big":
        time.byteswap()
        figures.byteswap()
    return time.tobytes() + figures.tobytes()


def settled_end(files: Files) -> int:
    """The end of the last complete row: the sampler removes a row that a full disk truncated."""
    first = reader(files, TELEMETRY).readline(_LONGEST_HEADER)
    state = files.state(TELEMETRY)
    try:
        size = _row_bytes(len(json.loads(first)["columns"]))
    except (ValueError, LookupError, TypeError, RecursionError):  # incomplete, or another program wrote it
        return 0
    if state is None or not first.endswith(b"\n"):
        return 0
    return len(first) + (state.size_bytes - len(first)) // size * size


def _row_bytes(columns: int) -> int:
    return 8 + 4 * columns


class Telemetry:
    """A record's telemetry as columns of equal length; empty when the run was too short. Raises DamagedError."""

    def __init__(self, files: Files) -> None:
        self.times_s = array("d")
        #: Column name -> values (float32, NaN where unknown), and its unit.
        self.columns: dict[str, array[float]] = {}
        self.units: dict[str, str] = {}
        stream = reader(files, TELEMETRY)
        first = stream.readline(_LONGEST_HEADER)
        if first.endswith(b"\n"):
            state = files.state(TELEMETRY)
            if state and state.size_bytes > _LARGEST_BYTES:
                raise DamagedError(
                    f"{TELEMETRY} has {state.size_bytes} bytes; at most {_LARGEST_BYTES} are read"
                )
            self._read(_columns(first), stream.read())
        elif len(first) == _LONGEST_HEADER:
            raise DamagedError(f"{TELEMETRY} does not start with its header")

    def __len__(self) -> int:
        return len(self.times_s)

    def largest(self, column: str, after_s: float, until_s: float) -> float | None:
        """The largest finite value of a column between two times (UTC seconds); None if there is none."""
        values = self.columns.get(column, ())
        known = [
            value
            for time_s, value in zip(self.times_s, values)
            if after_s < time_s <= until_s and isfinite(value)
        ]
        return max(known, default=None)

    def mean_sum(self, gauge: str, after_s: float, until_s: float) -> float | None:
        """The mean over time of the sum of a gauge over all GPUs; None if it is not known throughout."""
        names = [name for name in self.columns if re.fullmatch(rf"gpu[0-9]+_{gauge}", name)]
        rows = [row for row, time_s in enumerate(self.times_s) if after_s < time_s <= until_s]
        values = [self.columns[name][row] for name in names for row in rows]
        if len(rows) < _FEWEST_ROWS or not values or not all(map(isfinite, values)):
            return None
        return sum(values) / len(rows)

    def _read(self, columns: list[tuple[str, str]], data: bytes) -> None:
        size = _row_bytes(len(columns))
        count = len(data) // size
        figures = array("f")
        for at in range(0, count * size, size):
            self.times_s.frombytes(data[at : at + 8])
            figures.frombytes(data[at + 8 : at + size])
        if sys.byteorder == "big":
            self.times_s.byteswap()
            figures.byteswap()
        for number, (name, unit) in enumerate(columns):
            self.columns[name] = figures[number :: len(columns)]
            self.units[name] = unit


def _columns(first: bytes) -> list[tuple[str, str]]:
    """Names and units of the columns in the first line."""
    try:
        columns = [(column["name"], column["unit"]) for column in json.loads(first)["columns"]]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DamagedError(f"the header of {TELEMETRY} is damaged: {error!r}") from None
    if not all(isinstance(text, str) for column in columns for text in column):
        raise DamagedError(f"the header of {TELEMETRY} is damaged: a name is not text")
    return columns
