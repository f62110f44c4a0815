"""Reads small files of the kernel: limits and counters of control groups (versions 1 and 2), peak memory."""

from __future__ import annotations

import os

_ROOT = "/sys/fs/cgroup"


def read(path: str, limit: int = 65_536) -> str:
    """The text of a small file; empty when it does not exist or is not readable."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""


def folder(controller: str, counter: str) -> tuple[str, int]:
    """Folder of this process's control group that contains the file ``counter``, and the version of control groups.

    Empty and 0 when there is none. In a container /proc/self/cgroup may contain the host's path, so the root is tried too.
    """
    for line in read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        base = f"{_ROOT}/{controller}" if controllers else _ROOT
        for candidate in (base + path, base):
            if os.access(f"{candidate}/{counter}", os.R_OK):
                return candidate.rstrip("/"), 1 if controllers else 2
    return "", 0


def cpu_limit() -> float | None:
    """CPU limit of the control group, in CPUs; None: no limit."""
    place, _ = folder("cpu", "cpu.max")
    if place:
        words = read(place + "/cpu.max").split()
    else:
        place, _ = folder("cpu", "cpu.cfs_quota_us")
        words = (
            [*read(place + "/cpu.cfs_quota_us").split(), *read(place + "/cpu.cfs_period_us").split()]
            if place
            else []
        )
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
        return int(words[0]) / int(words[1])
    return None


class MemoryGroup:
    """The memory control group (version 1 or 2) of the agent and the benchmark."""

    def __init__(self) -> None:
        self.folder, self.version = folder("memory", "memory.events")
        if not self.folder:
            self.folder, self.version = folder("memory", "memory.oom_control")
        self.alone = bool(self.folder) and read(self.folder + "/cgroup.procs").split() == [str(os.getpid())]

    def kills(self) -> int | None:
        """Number of processes that the kernel has killed in this group because memory ran out.

        Counts the whole machine when there is no group; None: the kernel has no such counter. Only differences are
        meaningful.
        """
        name = {1: "/memory.oom_control", 2: "/memory.events"}.get(self.version, "")
        text = read(self.folder + name) if name else read("/proc/vmstat")
        return _number_after(text, "oom_kill")

    def limit_bytes(self) -> int | None:
        """The smallest memory limit that applies; None: no limit."""
        name = "/memory.max" if self.version == 2 else "/memory.limit_in_bytes"
        place, smallest = self.folder, None
        while len(place) > len(_ROOT):
            text = read(place + name).strip()
            if text.isdigit() and int(text) < 1 << 60:
                smallest = min(int(text), smallest or int(text))
            place = place.rpartition("/")[0]
        return smallest

    def peak_bytes(self) -> int | None:
        """Peak memory of the group, file cache included; None when the group contains other processes."""
        name = "/memory.peak" if self.version == 2 else "/memory.max_usage_in_bytes"
        text = read(self.folder + name).strip() if self.alone else ""
        return int(text) if text.isdigit() else None


def _number_after(text: str, name: str) -> int | None:
    for line in text.splitlines():
        if line.startswith(name + " "):
            return int(line.split()[1])
    return None


def peak_of(pid: int) -> int | None:
    """Peak memory of a running process (VmHWM), bytes."""
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return None
