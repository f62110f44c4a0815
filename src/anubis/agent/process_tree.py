"""The process tree of a benchmark: lists its processes and signals them."""

from __future__ import annotations

import os
from signal import SIGKILL
from time import sleep

from anubis.record import layout

#: Position of the size of the address space in the fields of ``table``. 0: a kernel thread, or a process that has ended.
_SIZE = 20
#: Pause before processes without an environment are looked at again, seconds.
_PAUSE_S = 0.01

#: The verbs whose processes end with their record; a shipper continues to send what was written.
_VERBS = {b"exec", b"extract", b"sample", b"probe"}


def table() -> dict[int, list[bytes]]:
    """Every process by id: the fields of /proc/PID/stat from the state onwards (proc(5)); empty without /proc."""
    rows = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                    rows[int(name)] = file.read(2048).rpartition(b")")[2].split()
            except OSError:  # it ended meanwhile
                continue
    return rows


def descendants(root: int, without: set[int], rows: dict[int, list[bytes]] | None = None) -> list[int]:
    """Descendants of ``root``, parents first, except zombies and the subtrees of the processes ``without``."""
    rows = table() if rows is None else rows
    children: dict[int, list[int]] = {}
    for pid, fields in rows.items():
        children.setdefault(int(fields[1]), []).append(pid)
    pids = []
    waiting = [pid for pid in children.get(root, []) if pid not in without]
    while waiting:
        pid = waiting.pop(0)
        if rows[pid][0] != b"Z":
            pids.append(pid)
        waiting += children.get(pid, [])
    return pids


def signal_all(pids: list[int], group: int, number: int) -> None:
    """Send a signal to a process group (0: none) and to these processes."""
    if group:
        try:
            os.killpg(group, number)
        except OSError:  # the group has no processes left
            pass
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:  # it ended meanwhile
            continue


def command_line(pid: int) -> str:
    """The command line of the process as text; empty when it has ended."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
            return file.read(512).replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def of_record(record: str) -> tuple[list[int], bool]:
    """Processes with this record in their environment: those that a killed agent left running.

    And whether there is a process without an environment: it may be one of them that executes a new program right now.
    """
    mark = b"\0ANUBIS_RECORD=" + record.encode("utf-8", "surrogateescape") + b"\0"
    pids, is_unsure = [], False
    for pid, fields in table().items():
        if pid == os.getpid() or fields[_SIZE] == b"0":
            continue
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read()
        except OSError:  # it has ended, or belongs to another user
            continue
        is_unsure = is_unsure or not environment
        if mark in b"\0" + environment:
            pids.append(pid)
    return pids, is_unsure


def agents_of(record: str) -> list[int]:
    """The agent of this record and its sidecars, by their command lines; also those that are stopped."""
    folder = os.fsencode(record)
    names = {folder, folder + b"/" + layout.OPTIONS.encode()}
    pids = []
    for pid in table():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:  # it has ended
            continue
        words = words[: words.index(b"--")] if b"--" in words else words
        starts_agent = any(b"anubis.agent.entry" in word for word in words)
        if (
            starts_agent
            and not _VERBS.isdisjoint(words)
            and not names.isdisjoint(words)
            and pid != os.getpid()
        ):
            pids.append(pid)
    return pids


def end_orphans(record: str) -> int:
    """Kill the agent of a record, its sidecars and the benchmark processes left; returns the number of the latter."""
    signal_all(agents_of(record), 0, SIGKILL)  # first, since an agent starts benchmark processes
    ended: set[int] = set()
    for _ in range(10):  # a process may start another one meanwhile
        pids, is_unsure = of_record(record)
        if not pids and not is_unsure:
            break
        signal_all(pids, 0, SIGKILL)
        ended.update(pids)
        if not pids:
            sleep(_PAUSE_S)
    return len(ended)
