"""``ship``: replicates the record to a receiver while it is being written, until the copy is complete."""

from __future__ import annotations

import os
import signal
import time

from anubis.agent.execute import prctl
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
#: Above every file descriptor of an agent. The limit of the system may be a billion.
_MOST_FILES = 1 << 16


def run(options: Options) -> int:
    """Ship one record; 0 when the receiver has the whole record."""
    try:
        token = _token(options.ship_token)
    except OSError as error:
        _report(f"the token cannot be read: {error}")
        return REFUSED
    return _ship(options, token)


def _ship(options: Options, token: str) -> int:
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    os.nice(19)  # the benchmark has priority
    try:
        receiver = Receiver(options.ship, token, time.sleep, _report)
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
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


class Shipping:
    """The shipper of a run, a separate process. It is restarted when it is killed.

    The benchmark may run as the same user, so it must not find the token in a file, in an environment, on a command
    line, or in the memory or open files of a process. The file is deleted, and agent and shipper are inaccessible to
    other processes of the user. The shipper is a fork, because a new program would be accessible at its start.
    """

    def __init__(self, options: Options, family: Family) -> None:
        self._options = options
        self._family = family
        self._token = ""  # without a token the receiver refuses the record, and the benchmark is measured
        try:
            self._token = _token(options.ship_token)
        except OSError as error:
            _report(f"the token cannot be read: {error}")
        prctl.refuse_inspection()
        try:
            os.unlink(options.ship_token)
        except OSError:  # no file, a descriptor, or a mounted file that cannot be deleted
            pass
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
        pid = os.fork()
        if pid == 0:
            code = REFUSED
            try:
                code = _ship_in_fork(self._options, self._token)
            finally:
                os._exit(code)
        self._family.sidecar_pids.add(pid)
        return pid


def _ship_in_fork(options: Options, token: str) -> int:
    """Ship from a new fork of the agent, without the agent's files (one of them is the lock that means it is alive)."""
    os.setpgid(0, 0)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    os.closerange(3, _MOST_FILES)
    prctl.rename(b"anubis-ship")
    return _ship(options, token)
