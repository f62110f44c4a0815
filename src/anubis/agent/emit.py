"""``emit``: records the metrics of a benchmark. ``benchmarkai.emit`` is the same function.

Uses the protocol of the old client library: ``BENCHMARK_AI`` selects the channel (``stdout``, the default, or ``fifo``),
and each call writes one line with one JSON object. Under an agent the line also contains the time of the call and, if
given, step, units and labels (the extended protocol, see ``agent/extract/emit_lines.py``). Calls are not buffered: the
values are in the record a few milliseconds after the call returns and on its disk at most one second later, without a
flush at exit.

Threads and forked processes may emit at the same time: a line of at most PIPE_BUF bytes (4096 on Linux) is atomic.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Mapping
from threading import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, Sequence

__all__ = ["FifoNotCreatedInTimeError", "emit", "emit_many", "mode"]

#: Longest wait of one call for the reader, seconds. Later calls do not wait until the reader reads again.
PATIENCE_S = 10.0
_ATOMIC_BYTES = getattr(select, "PIPE_BUF", 512)


class FifoNotCreatedInTimeError(Exception):
    """The FIFO was not created within BENCHMARK_AI_FIFO_MAX_WAIT_TIME seconds."""


def emit(
    metrics: Mapping[str, Any],
    *,
    step: int | None = None,
    units: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> None:
    """Record the value of each metric, now.

    ``step`` is a counter of the benchmark (iteration, epoch), ``units`` maps metrics to units, ``labels`` distinguish
    several sources of one metric. Raises TypeError unless ``metrics`` is a mapping, ValueError when it is empty or
    BENCHMARK_AI is neither stdout nor fifo, FifoNotCreatedInTimeError when there is no FIFO. Values are not checked
    here: a value that is not a finite number is counted as rejected when the record is read.
    """
    _check(metrics)
    channel = _channel()
    if step is None and not units and not labels and not channel.extended:
        channel.send(json.dumps(metrics, default=_plain) + "\n")
    else:
        channel.send(_line(metrics, _number(time.time_ns()), _number(step), units, labels))


def emit_many(
    metrics: Mapping[str, Sequence[float]],
    *,
    steps: Sequence[int] | None = None,
    times_s: Sequence[float] | None = None,
    units: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> None:
    """Record many values of each metric at once; ten times faster than calling ``emit`` for each.

    The values, ``steps`` and ``times_s`` (UTC seconds; default: now for all) are lists or arrays of equal length (n,).
    Raises ValueError when the lengths differ, and the errors of ``emit``.
    """
    _check(metrics)
    columns = {name: _listed(values) for name, values in metrics.items()}
    step_list = None if steps is None else _listed(steps)
    time_list = None if times_s is None else [round(at * 1e9) for at in _listed(times_s)]
    given = [*columns.values(), *(extra for extra in (step_list, time_list) if extra is not None)]
    if len({len(column) for column in given}) != 1:
        raise ValueError("the columns given to emit_many() have different lengths")
    channel = _channel()
    now = _number(time.time_ns())

    def line(low: int, high: int) -> str:
        part = {name: column[low:high] for name, column in columns.items()}
        when = now if time_list is None else _encoded(time_list[low:high])
        which = None if step_list is None else _encoded(step_list[low:high])
        return _line(part, when, which, units, labels)

    # A float64 or a time needs up to 20 characters, a step usually up to 8; a line that is still too long is halved.
    rows = max(1, (_ATOMIC_BYTES - 512) // (20 * (len(given) - (step_list is not None)) + 8))
    for low in range(0, len(given[0]), rows):
        for text in _halved(line, low, min(low + rows, len(given[0]))):
            channel.send(text)


def _halved(line: Callable[[int, int], str], low: int, high: int) -> Iterator[str]:
    """The rows from low to high as lines that a pipe writes atomically."""
    text = line(low, high)
    if len(text) <= _ATOMIC_BYTES or high - low == 1:
        yield text
    else:
        middle = (low + high) // 2
        yield from _halved(line, low, middle)
        yield from _halved(line, middle, high)


def mode() -> str:
    """Where emitted metrics go: stdout or fifo, from BENCHMARK_AI. Raises ValueError for anything else."""
    chosen = os.environ.get("BENCHMARK_AI", "stdout").lower()
    if chosen not in {"stdout", "fifo"}:
        raise ValueError(f"BENCHMARK_AI is {chosen!r}: it must be stdout or fifo")
    return chosen


def _check(metrics: object) -> None:
    if not isinstance(metrics, Mapping):
        raise TypeError(f"metrics must be a mapping of names to values, not {type(metrics).__name__}")
    if not metrics:
        raise ValueError("metrics is empty: emit() needs at least one metric")


def _plain(value: Any) -> Any:
    """A number of NumPy or another library as a Python number."""
    if hasattr(value, "item"):
        return value.item()
    if hasattr(value, "__float__"):
        return float(value)
    raise TypeError(f"a value of type {type(value).__name__} cannot be emitted")


_encoded = json.JSONEncoder(separators=(",", ":"), default=_plain).encode


def _number(value: int | None) -> str | None:
    return None if value is None else _encoded(value)


def _listed(values: Any) -> list[Any]:
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _line(
    metrics: Mapping[str, Any],
    when: str | None,
    which: str | None,
    units: Mapping[str, str] | None,
    labels: Mapping[str, str] | None,
) -> str:
    """One line of the extended protocol; times and steps are encoded already."""
    text = f'{{"anubis":1,"t":{when},"m":{_encoded(metrics)}'
    if which is not None:
        text += f',"s":{which}'
    if units:
        text += f',"u":{_encoded(units)}'
    if labels:
        text += f',"l":{_encoded(labels)}'
    return text + "}\n"


class _Stdout:
    """The default of the old client library: lines among the other output of the benchmark."""

    #: Whether to use the extended protocol. On stdout people and other tools expect the plain line.
    extended = False

    def send(self, line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()


class _Fifo:
    """The agent's FIFO. Blocks the benchmark only briefly: without a reader, samples are dropped and counted."""

    def __init__(self) -> None:
        #: Every agent sets this variable; the old tools do not.
        self.extended = "ANUBIS_RECORD" in os.environ
        self._path = os.environ.get("BENCHMARK_AI_FIFO_FILEPATH", "/tmp/benchmark-ai/fifo")  # noqa: S108  protocol  # nosec B108
        self._fifo = -1
        self._patience_s = PATIENCE_S
        self._dropped = 0
        self._torn = False
        self._warned = False
        self._await_fifo()
        self.make_lock()
        os.register_at_fork(after_in_child=self.make_lock)

    def make_lock(self) -> None:
        """Reentrant, since a signal handler may emit; new in a forked child, where another thread may have held it."""
        self._lock = RLock()

    def send(self, line: str) -> None:
        """Write one line, or drop it."""
        with self._lock:
            if self._torn:
                line = "\n" + line
            if self._fifo < 0 and not self._open():
                self._drop()
            elif self._write(line.encode()) and self._dropped:
                self._write(f'{{"anubis":1,"dropped":{self._dropped}}}\n'.encode())
                self._dropped = 0

    def _await_fifo(self) -> None:
        longest_s = float(os.environ.get("BENCHMARK_AI_FIFO_MAX_WAIT_TIME", "10"))
        step_s = float(os.environ.get("BENCHMARK_AI_FIFO_WAIT_TIME_STEP", "0.5"))
        waited_s = 0.0
        while not os.path.exists(self._path):
            if waited_s > longest_s:
                raise FifoNotCreatedInTimeError(
                    f"{self._path} was not created within {longest_s:g} s: run the benchmark under an agent"
                )
            time.sleep(step_s)
            waited_s += step_s

    def _open(self) -> bool:
        """Open the writing end, waiting for a reader; returns whether there is one."""
        until = time.monotonic() + self._patience_s
        while True:
            try:
                self._fifo = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_APPEND | os.O_CLOEXEC)
            except OSError:  # ENXIO: no process has it open for reading
                if time.monotonic() >= until:
                    return False
                time.sleep(0.05)
            else:
                return True

    def _write(self, data: bytes) -> bool:
        """Write all of it; returns whether that was possible. An incomplete line is ended before the next one."""
        until = time.monotonic() + self._patience_s
        rest = data
        while rest:
            try:
                rest = rest[os.write(self._fifo, rest) :]
            except BlockingIOError:
                left_s = until - time.monotonic()
                if left_s <= 0 or not self._writable(left_s):
                    break
            except OSError:  # EPIPE: the reader has ended; a new one may open the FIFO later
                os.close(self._fifo)
                self._fifo = -1
                break
        if rest:
            self._torn = self._torn or len(rest) < len(data)
            self._drop()
        else:
            self._torn = False
            self._patience_s = PATIENCE_S
        return not rest

    def _writable(self, longest_s: float) -> bool:
        watch = select.poll()
        watch.register(self._fifo, select.POLLOUT)
        return bool(watch.poll(int(longest_s * 1000) + 1))

    def _drop(self) -> None:
        self._dropped += 1
        self._patience_s = 0.0
        if not self._warned:
            self._warned = True
            sys.stderr.write("anubis: no agent reads the emitted metrics; they are dropped until one does.\n")


_chosen: _Stdout | _Fifo | None = None


def _channel() -> _Stdout | _Fifo:
    """The channel, selected at the first call so that importing this module cannot fail."""
    global _chosen  # noqa: PLW0603  one process has one agent
    if _chosen is None:
        _chosen = _Fifo() if mode() == "fifo" else _Stdout()
    return _chosen
