"""``ship``: replicates the record to a receiver while it is being written, until the copy is complete."""

from __future__ import annotations

import os
import signal
import time

from anubis.agent.options import SHIP_VARIABLE
from anubis.record.replication import Receiver, RefusedError, Sender

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anubis.agent.execute.capture import Capture
    from anubis.agent.execute.execution import Family
    from anubis.agent.options import Options

#: Exit code when the receiver refuses the record permanently.
REFUSED = 3
#: How long the agent waits before it replaces a shipper that was killed.
_RESTART_NS = 1_000_000_000


def run(options: Options) -> int:
    """Ship one record; 0 when the receiver has the whole record."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    os.nice(19)  # the benchmark has priority
    try:
        receiver = Receiver(options.ship, _token(options.ship_token), time.sleep, _report)
        Sender(options.record, receiver, time.sleep).run()
    except (RefusedError, OSError) as error:
        _report(f"the record cannot be shipped: {error}")
        return REFUSED
    return 0


def _report(text: str) -> None:
    try:
        os.write(2, f"anubis-agent: {text}\n".encode("utf-8", "replace"))
    except OSError:  # the disk of the log is full, or its reader has ended
        pass


def _token(path: str) -> str:
    if not path:
        return os.environ.get(SHIP_VARIABLE, "")
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


class Shipping:
    """The shipper of a run, a separate process. It is restarted when it is killed."""

    def __init__(self, options: Options, family: Family) -> None:
        self._options = options
        self._family = family
        self._pid = self._start()

    def check(self) -> None:
        """Replace a shipper that was killed."""
        if self._was_killed():
            self._pid = self._start()

    def finish(self, capture: Capture) -> None:
        """Wait until the receiver has the whole record or refuses it."""
        while True:
            while self._pid not in self._family.ended and self._family.reap():
                os.kill(self._pid, signal.SIGCONT)  # a stopped shipper would keep the agent for ever
                capture.pump(time.monotonic_ns() + _RESTART_NS)
            if not self._was_killed():
                return
            capture.pump(time.monotonic_ns() + _RESTART_NS)
            self._pid = self._start()

    def _was_killed(self) -> bool:
        ended = self._family.ended.get(self._pid)
        return ended is not None and os.WIFSIGNALED(ended[0])

    def _start(self) -> int:
        from anubis.agent.sidecars import spawn

        words = ["ship", "--record", self._options.record, "--ship", self._options.ship]
        if self._options.ship_token:
            words += ["--ship-token", self._options.ship_token]
        return spawn(words, self._family)
