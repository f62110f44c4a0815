"""First process of a sandbox: starts the benchmark in it, and reports the end of every process that it must reap.

It is process 1 of the sandbox, so the kernel ends all other processes with it. The benchmark can neither signal nor
inspect it. Messages are lines of JSON: ``["started", ns]``, ``["failed", text]``, and
``["ended", is_benchmark, status, user s, system s, peak bytes, ns]``; times are those of the monotonic clock.
"""

from __future__ import annotations

import os
import resource
import sys
from json import dumps, load
from signal import NSIG, SIG_DFL, SIG_IGN, SIGINT, SIGKILL, getsignal, signal
from time import monotonic_ns

from anubis.agent.execute.child import CannotStartError, find
from anubis.agent.execute.padding import padded
from anubis.agent.execute.prctl import die_with_parent, refuse_inspection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Linux counts ru_maxrss in KiB.
_RSS_UNIT = 1024


def main() -> None:
    """Never returns. The arguments are descriptors: of what to start, of the report, and of the agent's wake-up pipe."""
    content, report, wake = (int(word) for word in sys.argv[1:4])
    refuse_inspection()
    die_with_parent(SIGKILL)
    for number in (report, wake):
        os.set_inheritable(number, False)
    with os.fdopen(content, "rb") as file:
        given = load(file)
    pid = os.fork()
    if pid == 0:
        _become(given, report)
    signal(SIGINT, SIG_IGN)
    null = os.open("/dev/null", os.O_RDWR)
    for number in range(3):  # the benchmark alone keeps its output open
        os.dup2(null, number)
    while True:
        try:
            ended, status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            os._exit(0)
        peak = usage.ru_maxrss * _RSS_UNIT
        row = ["ended", ended == pid, status, usage.ru_utime, usage.ru_stime, peak, monotonic_ns()]
        _send(report, row)
        try:
            os.write(wake, b"\0")
        except BlockingIOError:  # the agent is about to wake up
            pass


def _become(given: dict[str, Any], report: int) -> None:
    """In the new process: never returns."""
    try:
        os.setsid()
        for number in range(1, NSIG):
            if getsignal(number) is SIG_IGN:
                signal(number, SIG_DFL)
        if given["user"]:
            user, group = given["user"]
            os.setgroups([])
            os.setresgid(group, group, group)
            os.setresuid(user, user, user)
        resource.setrlimit(resource.RLIMIT_NPROC, (given["processes"], given["processes"]))
        command, environment, cwd = given["command"], given["environment"], given["cwd"]
        try:
            os.chdir(cwd)
            program = find(command[0], environment.get("PATH", "/bin:/usr/bin"), cwd)
        except OSError as error:
            raise CannotStartError(error.errno, _explained(error, cwd)) from None
        environment = padded(program, command, environment, given["layout_offset"])
        _send(report, ["started", monotonic_ns()])
        os.execve(program, command, environment)
    except OSError as error:
        _send(report, ["failed", str(error.strerror)[:2000]])
    finally:
        os._exit(127)


def _explained(error: OSError, cwd: str) -> str:
    what = (
        error.strerror
        if isinstance(error, CannotStartError)
        else f"the working folder {cwd}: {error.strerror}"
    )
    return f"{what}; the benchmark runs in a sandbox, which shows only the system and ANUBIS_SANDBOX_PATHS"


def _send(report: int, message: list[object]) -> None:
    os.write(report, dumps(message).encode() + b"\n")
