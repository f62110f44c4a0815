"""Starts the benchmark in a sandbox of bubblewrap, and receives what its first process reports.

The agent stays outside: it measures as without a sandbox, and the benchmark cannot reach it. Between them are two
processes which are not part of the benchmark: bubblewrap, and the first process of the sandbox (``inside``).
"""

from __future__ import annotations

import errno
import os
from json import dumps, load, loads
from signal import SIGKILL

from anubis.agent.execute.child import CannotStartError
from anubis.agent.execute.prctl import die_with_parent
from anubis.agent.sandbox.control_group import ControlGroup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

    from anubis.agent.execute.limits import Limits

    #: Of a process that ended: status, user s, system s, peak bytes, monotonic ns.
    Row = tuple[int, float, float, int, int]


class Sandbox:
    """How benchmarks are started in a sandbox: a file that the engine wrote."""

    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            given = load(file)
        #: bubblewrap, its options, and the command of ``inside``.
        self._command: list[str] = given["command"]
        #: User and group of the benchmark; None: those of the agent.
        self._user: list[int] | None = given["user"]
        self._processes: int = given["processes"]
        #: Variables that differ in the sandbox.
        self._environment: dict[str, str] = given["environment"]
        #: Files and folders that the benchmark may write to.
        self._writable: list[str] = given["writable"]
        self.group = ControlGroup(given["memory_bytes"], given["processes"], given["cpus"])

    def facts(self) -> dict[str, object]:
        """What facts.json says about the sandbox."""
        user = self._user[0] if self._user else None
        return {"uid": user, "limits": self.group.facts()}

    def start(  # noqa: PLR0917  called once
        self,
        command: list[str],
        environment: dict[str, str],
        outputs: tuple[int, int],
        cwd: str,
        limits: Limits,
        layout_offset: int,
        wake: int,
    ) -> Sandboxed:
        """Start the command. ``wake`` is a pipe that gets a byte when a process has ended. Raises CannotStartError."""
        for path in self._writable if self._user else ():
            os.chown(path, *self._user)
        given = {
            "command": command,
            "environment": {**environment, **self._environment},
            "cwd": cwd,
            "layout_offset": layout_offset,
            "user": self._user,
            "processes": self._processes,
        }
        content = os.memfd_create("sandbox")
        os.write(content, dumps(given).encode())
        os.lseek(content, 0, os.SEEK_SET)
        report, report_write = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become(outputs, limits, (content, report_write, wake), parent)
        os.close(content)
        os.close(report_write)
        return Sandboxed(pid, report)

    def _become(
        self, outputs: tuple[int, int], limits: Limits, passed: tuple[int, int, int], parent: int
    ) -> None:
        """In the new process: never returns."""
        try:
            die_with_parent(SIGKILL)
            if os.getppid() != parent:
                os._exit(127)
            os.setsid()
            null = os.open("/dev/null", os.O_RDONLY)
            os.dup2(null, 0)
            os.dup2(outputs[0], 1)
            os.dup2(outputs[1], 2)
            for number in passed:
                os.set_inheritable(number, True)
            limits.apply()
            self.group.join()
            words = [*self._command, *map(str, passed)]
            os.execve(words[0], words, {})
        except OSError as error:
            os.write(2, f"the sandbox could not be started: {error}\n".encode())
        finally:
            os._exit(127)


class Sandboxed:
    """One execution of the benchmark in the sandbox."""

    def __init__(self, monitor: int, report: int) -> None:
        """``monitor`` is the process of bubblewrap. Raises CannotStartError."""
        self.monitor = monitor
        self._report = report
        self._received = b""
        #: Process 1 of the sandbox; 0: not known.
        self.init = 0
        #: The benchmark; negative if it ended before its process id could be read.
        self.pid = -monitor
        #: Monotonic time in ns right before exec.
        self.start_ns = 0
        self._orphans = 0
        for message in self._messages():
            if message[0] == "failed":
                self._abandon()
                raise CannotStartError(errno.ENOENT, message[1])
            self.start_ns = message[1]
            break
        if not self.start_ns:
            self._abandon()
            raise CannotStartError(
                errno.EIO, "bubblewrap could not start the sandbox; its error output says why"
            )
        os.set_blocking(report, False)
        children = _children(monitor)
        self.init = children[0] if children else 0
        started = _children(self.init) if self.init else []
        self.pid = started[0] if started else -monitor

    def ended(self) -> Iterator[tuple[int, Row]]:
        """The processes whose end was reported since the last call; orphans have other negative ids."""
        for message in self._messages():
            _, is_benchmark, *row = message
            self._orphans += not is_benchmark
            yield (self.pid if is_benchmark else -self.monitor * 1_000_000 - self._orphans), tuple(row)  # type: ignore[misc]

    def kill(self) -> None:
        """Kill every process in the sandbox at once."""
        try:
            os.kill(self.init or self.monitor, SIGKILL)
        except OSError:  # it has ended
            pass

    def close(self) -> None:
        """After the end of bubblewrap."""
        os.close(self._report)

    def _abandon(self) -> None:
        os.close(self._report)
        os.waitpid(self.monitor, 0)

    def _messages(self) -> Iterator[list[Any]]:
        while True:
            line, newline, rest = self._received.partition(b"\n")
            if newline:
                self._received = rest
                yield loads(line)
                continue
            try:
                part = os.read(self._report, 65_536)
            except BlockingIOError:
                return
            if not part:
                return
            self._received += part


def _children(pid: int) -> list[int]:
    """The children of a process, in the order of their start."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb", buffering=0) as file:
            return [int(word) for word in file.read().split()]
    except OSError:  # it has ended, or the kernel has no such file
        from anubis.agent import process_tree

        return sorted(each for each, fields in process_tree.table().items() if int(fields[1]) == pid)
