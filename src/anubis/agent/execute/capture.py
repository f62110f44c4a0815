"""Captures stdout, stderr and emitted lines into the record, at most a hundred times a second.

Reading as soon as data arrives would wake the agent for every line (5 % of a core at 10,000 lines/s). Instead the agent
pauses for up to 10 ms after each read while the pipe (1 MiB) fills. When a pipe is half full the pauses become short at
once, so that a child that writes at full speed is not blocked for long.
"""

from __future__ import annotations

import os
import select
from time import monotonic_ns

from anubis.agent.clock import utc_ns
from anubis.record.index_writer import EMIT, END, STDERR, STDOUT, IndexFile
from anubis.record.streams import PIPE_BYTES, Spool, open_pipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anubis.agent.execute.masking import MaskedStream, Masker

_LONGEST_PAUSE_S = 0.010
_SHORTEST_PAUSE_S = 0.0002


class Capture:
    """The spools, the pipes of the running execution, and the wake-up pipe that signals write into."""

    def __init__(self, record: str, masker: Masker | None = None) -> None:
        self.index = IndexFile(record)
        self.spools = [Spool(record, code, self.index, _masked(masker)) for code in (STDOUT, STDERR, EMIT)]
        #: Number of the running execution; every chunk of output is marked with it.
        self.repeat = 0
        self.wake, self.wake_write = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(self.wake_write, False)
        #: A signal has arrived since this was last set to False.
        self.woken = False
        self._buffer: memoryview | None = None
        self._poll = select.poll()
        self._poll.register(self.wake, select.POLLIN)
        self._pipes: dict[int, Spool] = {}
        self._pause_s = _LONGEST_PAUSE_S
        self._pauses = False

    def listen(self, code: int, pipe: int) -> None:
        """Spool the data of this pipe until its end."""
        self._pipes[pipe] = self.spools[code]
        self._poll.register(pipe, select.POLLIN)

    def open_outputs(self) -> tuple[int, int]:
        """Create pipes for the stdout and stderr of one execution; returns their writing ends."""
        ends = []
        for code in (STDOUT, STDERR):
            reading, writing = open_pipe()
            self.listen(code, reading)
            ends.append(writing)
        return ends[0], ends[1]

    def close_outputs(self) -> None:
        """Read the rest of stdout and stderr and close them, even if other processes still hold the writing ends."""
        self.drain()
        for pipe, spool in list(self._pipes.items()):
            if spool.code != EMIT:
                self._close(pipe)
        for spool in self.spools:
            spool.finish(utc_ns(monotonic_ns()), self.repeat)

    def pump(self, until_ns: int) -> None:
        """Wait for output, a signal or that time of the monotonic clock; record the output."""
        left_s = max(0.0, (until_ns - monotonic_ns()) / 1e9)
        if self._pauses:
            if select.select([self.wake], [], [], min(self._pause_s, left_s))[0]:
                self._wake_up()
            left_s = 0.0
        self._plan_pause(self._round(left_s))

    def drain(self) -> None:
        """Record everything that has arrived, in 16 rounds at most: a process that cannot be killed may still write."""
        for _ in range(16):
            if self._round(0.0) <= 0:
                break

    def finish(self) -> None:
        """Mark the record's streams as complete."""
        self.drain()
        for spool in self.spools:
            spool.finish(utc_ns(monotonic_ns()), self.repeat)
        self.index.note(STDOUT, END, 0, utc_ns(monotonic_ns()), self.repeat)

    def _round(self, wait_s: float) -> int:
        """Read every pipe that has data, once; returns the largest number of bytes read from one."""
        largest = 0
        ready = self._poll.poll(int(wait_s * 1000) + (wait_s > 0))
        time_ns = utc_ns(monotonic_ns())
        for pipe, event in ready:
            if pipe == self.wake:
                self._wake_up()
                continue
            if not event & select.POLLIN:
                self._close(pipe)
                continue
            if self._buffer is None:  # allocated late: touching 1 MiB takes 0.2 ms
                self._buffer = memoryview(bytearray(PIPE_BYTES))
            count = self._pipes[pipe].take(pipe, self._buffer, time_ns, self.repeat)
            if count == 0:
                self._close(pipe)
            largest = max(largest, count)
        return largest

    def _plan_pause(self, count: int) -> None:
        """After an empty read, or if a pipe is at least half full, wait for the next byte; otherwise pause first."""
        self._pauses = 0 < count < PIPE_BYTES // 2
        if count >= PIPE_BYTES // 2:
            self._pause_s = _SHORTEST_PAUSE_S
        elif count < PIPE_BYTES // 4:
            self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)

    def _wake_up(self) -> None:
        self.woken = True
        try:
            os.read(self.wake, 4096)
        except BlockingIOError:
            pass

    def _close(self, pipe: int) -> None:
        self._poll.unregister(pipe)
        del self._pipes[pipe]
        os.close(pipe)


def _masked(masker: Masker | None) -> MaskedStream | None:
    """The filter of one stream; None without secrets."""
    if masker is None:
        return None
    from anubis.agent.execute.masking import MaskedStream

    return MaskedStream(masker)
