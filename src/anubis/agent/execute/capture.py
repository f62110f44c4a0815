"""The agent's ear: stdout, stderr and emit into the record, woken a hundred times a second at most.

Reading as it comes wakes up for every line (5 % of a core at 10,000 lines/s). Instead the agent rests for up to
10 ms after each read and lets the pipe, 1 MiB, collect. A pipe found half full ends the rests at once, so that a child
at full speed never waits long.
"""

from __future__ import annotations

import os
import select
from time import monotonic_ns

from anubis.agent.clock import utc_ns
from anubis.record.index_writer import EMIT, END, STDERR, STDOUT, IndexFile
from anubis.record.streams import PIPE_BYTES, Spool, open_pipe

_LONGEST_REST_S = 0.010
_SHORTEST_REST_S = 0.0002


class Capture:
    """Owns the spools, the pipes of the execution that runs, and the wake-up pipe that signals write into."""

    def __init__(self, record: str) -> None:
        self.index = IndexFile(record)
        self.spools = [Spool(record, code, self.index) for code in (STDOUT, STDERR, EMIT)]
        #: Number of the execution that runs: stamped on what arrives.
        self.repeat = 0
        self.wake, self.wake_write = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(self.wake_write, False)
        #: A signal has arrived since somebody last set this to False.
        self.woken = False
        self._buffer: memoryview | None = None
        self._poll = select.poll()
        self._poll.register(self.wake, select.POLLIN)
        self._pipes: dict[int, Spool] = {}
        self._rest_s = _LONGEST_REST_S
        self._rests = False

    def listen(self, code: int, pipe: int) -> None:
        """Spool what comes through this pipe, until its end."""
        self._pipes[pipe] = self.spools[code]
        self._poll.register(pipe, select.POLLIN)

    def open_outputs(self) -> tuple[int, int]:
        """New pipes for the stdout and stderr of one execution: the ends to give away."""
        ends = []
        for code in (STDOUT, STDERR):
            reading, writing = open_pipe()
            self.listen(code, reading)
            ends.append(writing)
        return ends[0], ends[1]

    def close_outputs(self) -> None:
        """Take what is left in stdout and stderr and close them, whoever still holds the other ends."""
        self.drain()
        for pipe, spool in list(self._pipes.items()):
            if spool.code != EMIT:
                self._close(pipe)

    def pump(self, until_ns: int) -> None:
        """Wait for output, a signal or that time of the monotonic clock; write down what came."""
        left_s = max(0.0, (until_ns - monotonic_ns()) / 1e9)
        if self._rests:
            if select.select([self.wake], [], [], min(self._rest_s, left_s))[0]:
                self._wake_up()
            left_s = 0.0
        self._plan_rest(self._round(left_s))

    def drain(self) -> None:
        """Write down everything that has arrived, without waiting for more (a process that cannot be ended may go on)."""
        for _ in range(16):
            if self._round(0.0) <= 0:
                break

    def finish(self) -> None:
        """Mark the record's streams as complete."""
        self.drain()
        self.index.note(STDOUT, END, 0, utc_ns(monotonic_ns()), self.repeat)

    def _round(self, wait_s: float) -> int:
        """Read every pipe that has something, once; the largest number of bytes among them."""
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
            if self._buffer is None:  # only now: touching 1 MiB takes 0.2 ms
                self._buffer = memoryview(bytearray(PIPE_BYTES))
            count = self._pipes[pipe].take(pipe, self._buffer, time_ns, self.repeat)
            if count == 0:
                self._close(pipe)
            largest = max(largest, count)
        return largest

    def _plan_rest(self, count: int) -> None:
        """After an empty read, or a pipe more than half full, wait for the next byte; else rest and let it collect."""
        self._rests = 0 < count < PIPE_BYTES // 2
        if count >= PIPE_BYTES // 2:
            self._rest_s = _SHORTEST_REST_S
        elif count < PIPE_BYTES // 4:
            self._rest_s = min(self._rest_s * 2, _LONGEST_REST_S)

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
