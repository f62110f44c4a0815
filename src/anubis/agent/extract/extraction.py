"""``extract``: reads samples from a record's output, by declared patterns and emitted lines.

Runs during the benchmark at the lowest priority, or after it, and can be repeated at any time: everything it writes is
derived. It reads the time index, so that it sees the streams in the order of arrival, and continues where an earlier
extraction stopped.
"""

from __future__ import annotations

import json
import os
import re
import select
import stat

from anubis.agent.extract.emit_lines import Emitted
from anubis.agent.extract.metric_buffers import MetricBuffers
from anubis.agent.extract.pattern_scan import LONGEST_LINE, Lines, Scanner
from anubis.agent.extract.patterns import Pattern
from anubis.agent.extract.regex_timeout import RegexTimeout
from anubis.agent.extract.suggestions import SimilarLines, similar_names
from anubis.agent.options import PRIORITY_TOO_LOW
from anubis.agent.sidecar_signals import wake_at_sigterm
from anubis.record import access, layout, liveness, samples, time_index
from anubis.record.files import FolderFiles, replace
from anubis.record.index_writer import CHUNK, EMIT, END, ENTRY_BYTES, GAP, HEADER, STDOUT
from anubis.record.validation import DamagedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anubis.agent.options import Options

#: Bytes of one stream that are scanned together.
_BATCH_BYTES = 1 << 20
_LONGEST_EMIT = 1 << 20
#: Bytes to read before the state is written even though there are no new samples.
_SAVE_BYTES = 1 << 24
#: How long to wait for more output: short at first, so that values are visible soon; longer later, so that the file
#: of a long run stays small.
_IDLE_S, _LONGEST_IDLE_S, _IDLE_GROWTH = 0.25, 1.0, 1.02


def run(options: Options) -> int:
    """Extract until the record is complete or its agent has ended; 0 when all of its output has been read."""
    wake = wake_at_sigterm()  # SIGTERM means that the streams are complete
    files = FolderFiles(options.record)
    low_priority = not time_index.is_complete(files) and liveness.state(options.record) == liveness.ALIVE
    if low_priority:
        low_priority = _set_priority("SCHED_IDLE")
    extraction = Extraction(options.record, _declared(options.patterns), fresh=options.fresh)
    idle_s = _IDLE_S
    while not extraction.complete:
        moved = extraction.advance()
        if low_priority and time_index.is_complete(
            files
        ):  # the benchmark has ended, its user waits for figures
            low_priority = False
            if not _set_priority("SCHED_OTHER"):
                return PRIORITY_TOO_LOW
        if moved:
            continue
        if liveness.state(options.record) != liveness.ALIVE:
            break
        idle_s = min(idle_s * _IDLE_GROWTH, _LONGEST_IDLE_S)
        if select.select([wake], [], [], idle_s)[0]:
            os.read(wake, 64)
    extraction.finish()
    return 0


def _set_priority(policy: str) -> bool:
    """Set the scheduling policy; returns False where it does not exist or raising the priority needs privileges."""
    try:
        os.sched_setscheduler(0, getattr(os, policy), os.sched_param(0))
    except (AttributeError, OSError):
        return False
    return True


def _declared(path: str) -> dict[str, dict[str, Any]]:
    if not path:
        return {}
    with os.fdopen(_open_regular(path, 0), encoding="utf-8") as file:
        return dict(json.load(file))


def _open_regular(path: str, flags: int = os.O_NOFOLLOW) -> int:
    """Open a regular file for reading; raises OSError for everything else that the benchmark may have put there."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(f"{path} is not a regular file")
    return file


class Extraction:
    """Reads the streams of a record incrementally and writes ``samples``.

    ``fresh``: read everything again into a new file, which replaces ``samples`` at the end; the old file is not read.
    """

    def __init__(self, record: str, declared: dict[str, dict[str, Any]], *, fresh: bool = False) -> None:
        self._record = record
        self._files = FolderFiles(record)
        self._fresh = fresh
        self._path = f"{record}/{layout.SAMPLES}" + (f"-{os.urandom(8).hex()}{layout.PART}" if fresh else "")
        self._buffers = MetricBuffers(declared)
        self._patterns = self._compile(declared)
        self._guard = RegexTimeout()
        self._emitted = Emitted(self._buffers)
        self._scanner = Scanner(self._patterns, self._buffers, self._emitted, self._guard)
        self._streams = [
            Stream(record, name, _LONGEST_EMIT if name == layout.EMIT else LONGEST_LINE)
            for name in layout.STREAMS
        ]
        self._index_at = len(HEADER)
        self._repeat: int | None = None
        self._time_s = 0.0
        #: Bytes read since the state was written last.
        self._unsaved = 0
        #: The record's streams are complete and read to their end.
        self.complete = False
        self._file = self._resume()
        self._guard.start()

    def _compile(self, declared: dict[str, dict[str, Any]]) -> list[Pattern]:
        patterns = []
        for metric, facts in declared.items():
            if not facts.get("pattern"):
                continue
            try:
                patterns.append(Pattern(metric, facts["pattern"]))
            except (re.error, OverflowError, RecursionError) as error:  # does not affect the other metrics
                self._buffers.reports[metric].error = str(error)
        return patterns

    def advance(self) -> bool:
        """Read about one more megabyte; False when there is no new output. Raises DamagedError."""
        part = time_index.entries(self._files, self._index_at)
        taken = size = 0
        for end, time_ns, repeat, stream, kind in part:
            if size >= _BATCH_BYTES:
                break
            if stream >= len(self._streams) or kind > END or end < 0:
                raise DamagedError(f"{layout.LINES} is damaged after byte {self._index_at}")
            if kind != CHUNK or repeat != self._repeat:
                self._scan_all()
            if kind == END or (self._repeat is not None and repeat != self._repeat):
                self._end_lines()
            self._repeat, self._time_s = repeat, time_ns / 1e9
            taken += 1
            if kind == CHUNK:
                size += self._streams[stream].grow(end, self._time_s)
            elif kind == GAP:
                self._streams[stream].mark_gap()
            elif kind == END:
                self.complete = True
                break
        self._scan_all()
        self._index_at += taken * ENTRY_BYTES
        self._unsaved += size
        if self.complete or self._unsaved > _SAVE_BYTES or self._buffers.with_samples():
            self._write()
        return taken > 0

    def finish(self) -> None:
        """Write metrics.json: a report of each metric, with the most similar lines for a metric without samples."""
        if (
            not self.complete
        ):  # the agent was killed: output after its last index entry arrived at about that time
            for stream in self._streams:
                stream.grow(stream.size(), self._time_s)
            self._scan_all()
            self._end_lines()
            self._write()
        self._guard.stop()
        for pattern in self._patterns:
            report = self._buffers.reports[pattern.metric]
            report.slow_lines, report.switched_off = pattern.slow_lines, pattern.off
        self._report_similar()
        facts = {
            "version": 1,
            "complete": self.complete,
            "metrics": {name: report.__dict__ for name, report in self._buffers.reports.items()},
            "bad_emit_lines": self._emitted.bad_lines,
            "dropped_by_emit": self._emitted.dropped,
        }
        if self._fresh:
            os.replace(self._path, f"{self._record}/{layout.SAMPLES}")
        replace(self._record, layout.METRICS, json.dumps(facts).encode() + b"\n")
        os.close(self._file)

    def _report_similar(self) -> None:
        """For each declared metric without samples, report similar lines or similar names of emitted metrics."""
        reports = self._buffers.reports
        others = [name for name, report in reports.items() if report.count and not report.declared]
        similar = SimilarLines(self._record)
        for name, report in reports.items():
            if report.declared and not report.count:
                pattern = report.pattern
                report.closest = (
                    similar_names(name, others) if pattern is None else similar.lines(name, pattern)
                )

    def _scan_all(self) -> None:
        """Scan the complete lines of the data read so far."""
        for code, stream in enumerate(self._streams):
            for lines in stream.complete_lines(self._repeat or 0):
                self._scan(code, lines)

    def _end_lines(self) -> None:
        """Treat the incomplete last line of an execution that ended as a line."""
        for code, stream in enumerate(self._streams):
            lines = stream.last_line(self._repeat or 0, self._time_s)
            if lines:
                self._scan(code, lines)

    def _scan(self, code: int, lines: Lines) -> None:
        if code != EMIT:
            self._scanner.scan(lines, code == STDOUT)
            return
        for line, end in lines.whole():
            self._emitted.take(line, lines.time_of(end), lines.repeat)

    def _write(self) -> None:
        """Append the new samples and the read positions, in one write."""
        parts = []
        for buffer in self._buffers.with_samples():
            if buffer.number is None:
                buffer.number = len(self._series)
                facts = {
                    "id": buffer.number,
                    "metric": buffer.columns.metric,
                    "units": buffer.columns.units,
                    "labels": buffer.labels,
                }
                self._series.append(facts)
                parts.append(samples.frame(samples.SERIES, json.dumps(facts).encode()))
            parts.append(samples.block(buffer.number, buffer.columns))
            buffer.columns = samples.Columns(buffer.columns.metric, buffer.columns.units)
        state = {
            "index_at": self._index_at,
            "repeat": self._repeat,
            "complete": self.complete,
            "streams": [stream.state() for stream in self._streams],
            "counters": self._buffers.counters(),
            "bad_lines": self._emitted.bad_lines,
            "dropped": self._emitted.dropped,
        }
        parts.append(samples.frame(samples.STATE, json.dumps(state).encode()))
        self._unsaved = 0
        data = b"".join(parts)
        while data:
            data = data[os.write(self._file, data) :]

    def _resume(self) -> int:
        """Open ``samples`` at the end of the last complete state, and restore that state."""
        file = access.create(self._path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW)
        self._series: list[dict[str, Any]] = []
        good, state, waiting = len(samples.HEADER), None, []
        with os.fdopen(_open_regular(self._path), "rb") as reader:
            if reader.read(good) == samples.HEADER:
                for kind, payload in samples.frames(reader):
                    if kind == samples.SERIES:
                        waiting.append(json.loads(payload))
                    elif kind == samples.STATE:
                        state, good = json.loads(payload), reader.tell()
                        self._series += waiting
                        waiting = []
            else:
                os.pwrite(file, samples.HEADER, 0)
        os.ftruncate(file, good)
        os.lseek(file, good, os.SEEK_SET)
        if state:
            self._restore(state)
        return file

    def _restore(self, state: dict[str, Any]) -> None:
        self._index_at, self._repeat, self.complete = state["index_at"], state["repeat"], state["complete"]
        self._emitted.bad_lines, self._emitted.dropped = state["bad_lines"], state["dropped"]
        self._buffers.restore(self._series, state["counters"])
        for stream, facts in zip(self._streams, state["streams"]):
            stream.restore(facts)


class Stream:
    """One stream, read from the start of its first incomplete line. Only the first ``longest`` bytes of a line count."""

    def __init__(self, record: str, name: str, longest: int) -> None:
        self._longest = longest
        self._file = _open_regular(f"{record}/{name}")
        #: Offset of the first byte that is not yet scanned; ``_held`` contains the bytes read from there on.
        self._at = 0
        self._held = b""
        #: The start of the current line was scanned already, or is lost: skip to its end.
        self._skips = False
        #: End offsets of the chunks that are not yet scanned, and their arrival times (UTC s).
        self._ends: list[int] = []
        self._times: list[float] = []

    def grow(self, end: int, time_s: float) -> int:
        """Extend the stream to this offset; returns the number of new bytes."""
        before = self._ends[-1] if self._ends else self._at + len(self._held)
        self._ends.append(end)
        self._times.append(time_s)
        return end - before

    def size(self) -> int:
        """Bytes in the file."""
        return os.fstat(self._file).st_size

    def mark_gap(self) -> None:
        """Note that bytes are missing here: the text before and after must not be joined to one line."""
        self._at += len(self._held)
        self._held = b""
        self._skips = True

    def complete_lines(self, repeat: int) -> list[Lines]:
        """The new data up to the last line end."""
        parts = []
        while self._ends and self._at + len(self._held) < self._ends[-1]:
            have = self._at + len(self._held)
            data = os.pread(self._file, min(self._ends[-1] - have, _BATCH_BYTES), have)
            if not data:
                break
            self._held = data if not self._held else self._held + data
            lines = self._cut(repeat)
            if lines:
                parts.append(lines)
        self._ends, self._times = [], []
        return parts

    def last_line(self, repeat: int, time_s: float) -> Lines | None:
        """The rest of the data as a separate line."""
        body = self._held  # empty while the line is skipped
        self._at += len(body)
        self._held, self._skips = b"", False
        return Lines(body, [len(body)], [time_s], repeat) if body else None

    def state(self) -> dict[str, Any]:
        """The position from which to continue."""
        return {"at": self._at, "held": len(self._held), "skips": self._skips}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from that position."""
        self._at, self._skips = state["at"], state["skips"]
        self._held = os.pread(self._file, state["held"], self._at)

    def _cut(self, repeat: int) -> Lines | None:
        """Remove the complete lines from ``_held``."""
        held = self._held
        start = 0
        if self._skips:
            start = _first_end(held) + 1
            self._skips = start == 0
            start = start or len(held)
        cut = max(held.rfind(b"\n"), held.rfind(b"\r")) + 1
        if cut <= start:
            cut = start
            if len(held) - start > self._longest:  # the rest of this line does not count
                cut, self._skips = len(held), True
        base, self._at, self._held = self._at, self._at + cut, held[cut:]
        if cut == start:
            return None
        ends = [max(0, end - base - start) for end in self._ends]
        return Lines(held[start:cut], ends, self._times, repeat)


def _first_end(data: bytes) -> int:
    ends = [at for at in (data.find(b"\n"), data.find(b"\r")) if at >= 0]
    return min(ends, default=-1)
