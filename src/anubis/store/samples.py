"""Samples in the database: segments of packed columns, and one summary row for each metric of a run."""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from anubis.late import late
from anubis.model.errors import DamagedSamplesError, NotFoundError
from anubis.model.points import SampleBlock
from anubis.store.columns import checksum, pack, unpack, worth_numpy
from anubis.store.rows import id_bytes, id_text, number
from anubis.store.sql.database import Database, Row, Session
from anubis.store.text import clean

if TYPE_CHECKING:
    import numpy as np
else:  # heavy, and only long columns need it
    np = late("numpy")

Columns = tuple["array[Any]", ...]

#: Maximum number of samples of one segment: about half a megabyte packed.
SEGMENT = 65_536
_EMPTY: Columns = (array("d"), array("d"), array("q"), array("i"))


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary row of a metric, without warm-ups; numbers may be NaN."""

    count: int
    last: float
    min: float
    max: float
    sum: float

    def followed_by(self, later: "Summary") -> "Summary":
        """The summary of these samples and the later ones."""
        if not later.count:
            return self
        return Summary(
            self.count + later.count,
            later.last,
            _extreme(min, self.min, later.min),
            _extreme(max, self.max, later.max),
            self.sum + later.sum,
        )


def _extreme(choose: Callable[..., float], *values: float) -> float:
    """``min`` or ``max`` of the values that are not NaN; NaN without such values."""
    return choose((value for value in values if not isnan(value)), default=nan)


def measured_values(columns: Columns) -> "array[float]":
    """The values outside warm-ups."""
    values, _, _, repeats = columns
    if not values or min(repeats) >= 0:
        return values
    return array("d", [value for value, repeat in zip(values, repeats, strict=True) if repeat >= 0])


def summary_of(values: "array[float]") -> Summary:
    """The summary of values: NaN values are ignored in min and max, and make the sum NaN."""
    if not values:
        return Summary(0, nan, nan, nan, 0.0)
    total = sum(values)
    if isnan(total):  # also when both infinities are among the values
        return Summary(len(values), values[-1], _extreme(min, *values), _extreme(max, *values), total)
    return Summary(len(values), values[-1], min(values), max(values), total)


class SampleWriter:
    """A packed block: packing is done before the transaction, which others may wait for."""

    def __init__(self, block: SampleBlock, metric: int) -> None:
        self._name = clean(block.metric)
        self._metric = metric
        self._start = block.start
        self._columns: Columns = (block.values, block.times_s, block.steps, block.repeats)
        if len({len(column) for column in self._columns}) != 1:
            raise ValueError(f"the columns of {block.metric} have different lengths")
        self._segments = _segments(self._columns, block.start)
        self._summary = summary_of(measured_values(self._columns))

    def write(self, session: Session, run: int) -> None:
        """Store the block and replace the samples from its start on.

        Raises ValueError if samples before it are missing.
        """
        stored = session.row("extent", run=run, name=self._name).extent or 0
        segments, summary = self._segments, self._summary
        if stored < self._start:
            raise ValueError(
                f"samples of {self._name}: {stored} are stored, the block starts at {self._start}"
            )
        if stored > self._start > 0:
            kept = [column[: self._start] for column in _stored(session, run, self._name)]
            whole = tuple(old + new for old, new in zip(kept, self._columns, strict=True))
            segments, summary = _segments(whole, 0), summary_of(measured_values(whole))
        elif self._start:
            for row in session.rows("summary", run=run, name=self._name):  # none after warm-ups only
                before = Summary(row.count, *map(number, (row.last, row.min, row.max, row.sum)))
                summary = before.followed_by(summary)
        if stored:
            session.write("remove_summary", run=run, name=self._name)
        if stored > self._start:
            session.write("remove_segments", run=run, name=self._name)
        rows = [{"run": run, "metric": self._metric, **segment} for segment in segments]
        session.write_all("add_segment", rows)
        if summary.count:
            self._write_summary(session, run, summary)

    def _write_summary(self, session: Session, run: int, summary: Summary) -> None:
        session.write(
            "add_summary",
            run=run,
            metric=self._metric,
            count=summary.count,
            last=summary.last,
            min=summary.min,
            max=summary.max,
            sum=summary.sum,
        )


def read_samples(database: Database, run_id: str, metric: str, most: int | None) -> SampleBlock:
    """See ``Points.samples``."""
    rows = database.rows("segments", run_id=id_bytes(run_id), name=clean(metric))
    if not rows:
        raise NotFoundError(
            f"run {run_id} has no samples of {metric!r}", remedy="anubis results lists its metrics"
        )
    values, times_s, steps, repeats = thinned(_joined(rows, run_id, metric), most)
    return SampleBlock(
        metric=metric, units=rows[-1].units, values=values, times_s=times_s, steps=steps, repeats=repeats
    )


def thinned(columns: Columns, most: int | None) -> Columns:
    """At most ``most`` samples: the smallest and largest of each of ``most // 2`` buckets, in order of arrival.

    With ``most`` = 1 it is the last sample. ValueError for less.
    """
    values = columns[0]
    length = len(values)
    if most is None or length <= most:
        return columns
    if most < 1:
        raise ValueError("most must be at least 1")
    buckets = most // 2
    edges = [length * i // buckets for i in range(buckets + 1)] if buckets else []
    extremes = _extremes(values)
    kept = [at for a, b in pairwise(edges) for at in sorted(set(extremes(a, b)))]
    kept = kept or [length - 1]
    return tuple(array(column.typecode, [column[at] for at in kept]) for column in columns)


def _extremes(values: "array[float]") -> Any:
    """A function that returns the positions of the smallest and the largest of ``values[a:b]``."""
    if worth_numpy(len(values)):
        column = np.frombuffer(values)
        return lambda a, b: (a + int(column[a:b].argmin()), a + int(column[a:b].argmax()))

    def at(value: float, a: int, b: int) -> int:
        return a if isnan(value) else values.index(value, a, b)

    return lambda a, b: (at(min(values[a:b]), a, b), at(max(values[a:b]), a, b))


def _segments(columns: Columns, start: int) -> list[dict[str, Any]]:
    segments = []
    for at in range(0, len(columns[0]), SEGMENT):
        part = tuple(column[at : at + SEGMENT] for column in columns)
        body = pack(part)
        segments.append(
            {
                "start": start + at,
                "count": len(part[0]),
                "body": body,
                "checksum": checksum(body, start + at),
            }
        )
    return segments


def _stored(session: Session, run: int, name: str) -> Columns:
    rows = session.rows("stored_segments", run=run, name=name)
    return _joined(rows, id_text(rows[0].id), name)


def _joined(rows: Sequence[Row], run_id: str, metric: str) -> Columns:
    """The samples of all segments, in order. Raises DamagedSamplesError."""
    whole = tuple(column[:] for column in _EMPTY)
    for row in rows:
        start = len(whole[0])
        if row.start != start:
            raise DamagedSamplesError.of(run_id, metric, f"samples from {start} on are missing")
        if row.checksum != checksum(row.body, row.start):
            raise DamagedSamplesError.of(
                run_id, metric, f"the checksum of the samples from {start} on differs"
            )
        columns = unpack(row.body)
        if len(rows) == 1:
            return columns
        for column, more in zip(whole, columns, strict=True):
            column.extend(more)
    return whole
