"""The control group (version 1 or 2) of a sandbox, which limits all of its processes together.

What the machine does not permit is not limited, and the record says so.
"""

from __future__ import annotations

import os
from time import sleep

from anubis.agent.observe.kernel import folder, read

#: Time slice to which a CPU limit refers, microseconds.
_PERIOD_US = 100_000
#: Version of control groups -> controller -> a file that a group with this controller has.
_COUNTERS = {
    1: {"memory": "memory.limit_in_bytes", "pids": "cgroup.procs", "cpu": "cpu.cfs_quota_us"},
    2: {"memory": "cgroup.controllers", "pids": "cgroup.controllers", "cpu": "cgroup.controllers"},
}
#: How often to try to remove a group whose last process is ending.
_MOST_ATTEMPTS, _PAUSE_S = 100, 0.01


class ControlGroup:
    """One group for each controller in version 1, and a single one in version 2."""

    def __init__(self, memory_bytes: int, processes: int, cpus: float) -> None:
        """The limits of the group; 0: no limit."""
        self._folders: list[str] = []
        self._events = ""
        #: Limit -> its value, and why it does not apply (None: it does).
        self._facts: dict[str, dict[str, object]] = {}
        for controller, limit in (("memory", memory_bytes), ("pids", processes), ("cpu", cpus)):
            if limit:
                why = self._limited(controller, limit)
                self._facts[controller] = {"asked": limit, "why": why}

    def facts(self) -> dict[str, dict[str, object]]:
        """What was asked, and why it does not apply (None: it does), by controller."""
        return self._facts

    def join(self) -> None:
        """Move this process into the group."""
        for place in self._folders:
            _write(f"{place}/cgroup.procs", "0")

    def kills(self) -> int | None:
        """Processes in the group that the kernel has killed because memory ran out; None: memory is not limited."""
        for line in read(self._events).splitlines() if self._events else ():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        return None

    def close(self) -> None:
        """Remove the group, whose processes have ended."""
        for place in self._folders:
            for _ in range(_MOST_ATTEMPTS):
                try:
                    os.rmdir(place)
                except FileNotFoundError:
                    break
                except OSError:  # the kernel still removes a process
                    sleep(_PAUSE_S)
                else:
                    break
        self._folders = []

    def _limited(self, controller: str, limit: float) -> str | None:
        """Limit the group; returns why that is not possible."""
        base, version = _base(controller)
        if not base:
            return f"this machine has no control groups with {controller}"
        place = f"{base}/anubis-{os.getpid()}"
        try:
            if version == 2 and controller not in read(f"{base}/cgroup.subtree_control").split():
                _write(f"{base}/cgroup.subtree_control", f"+{controller}")
            os.makedirs(place, exist_ok=True)
            if place not in self._folders:
                self._folders.append(place)
            for name, text in _files(controller, version, limit):
                _write(f"{place}/{name}", text)
        except OSError as error:
            return f"{error.filename or place}: {error.strerror}"
        if controller == "memory":
            name = "memory.oom_control" if version == 1 else "memory.events"
            self._events = f"{place}/{name}"
            for name, text in _OPTIONAL:
                if os.access(f"{place}/{name}", os.W_OK):
                    _write(f"{place}/{name}", text.format(limit))
        return None


#: Swap is not used in addition, and one process is not killed without the others.
_OPTIONAL = (("memory.memsw.limit_in_bytes", "{}"), ("memory.swap.max", "0"))


def _files(controller: str, version: int, limit: float) -> list[tuple[str, str]]:
    quota = max(1000, int(limit * _PERIOD_US))
    if controller == "pids":
        return [("pids.max", str(limit))]
    if controller == "memory":
        return [("memory.limit_in_bytes" if version == 1 else "memory.max", str(limit))]
    if version == 1:
        return [("cpu.cfs_period_us", str(_PERIOD_US)), ("cpu.cfs_quota_us", str(quota))]
    return [("cpu.max", f"{quota} {_PERIOD_US}")]


def _base(controller: str) -> tuple[str, int]:
    """The folder in which a group with this controller can be made, and the version; empty: there is none.

    In version 2 a group that has processes cannot have groups with controllers below it, except for the root.
    """
    place, version = folder(controller, _COUNTERS[1][controller])
    if version == 1:
        return place, version
    place, version = folder(controller, _COUNTERS[2][controller])
    if version != 2:
        return "", 0
    for candidate in (place, place.rpartition("/")[0]):
        if controller in read(f"{candidate}/cgroup.controllers").split() and (
            not read(f"{candidate}/cgroup.procs").strip() or not os.path.exists(f"{candidate}/cgroup.type")
        ):
            return candidate, 2
    return "", 0


def _write(path: str, text: str) -> None:
    with open(path, "wb", buffering=0) as file:
        file.write(text.encode())
