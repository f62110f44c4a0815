"""Whether the agent of a record is running: the agent locks the file ``alive``, and the kernel releases the lock when the
agent ends. Works only on the machine of the agent.
"""

from __future__ import annotations

import fcntl
import os
from json import dumps
from signal import SIGKILL, SIGTERM

from anubis.record import layout

ABSENT, ALIVE, DEAD = "absent", "alive", "dead"


def claim(record: str) -> int | None:
    """Claim the record for this process; returns a file descriptor that must stay open, None if another agent has it.

    The file is written and locked before it is linked to its name, so a reader never sees it incomplete.
    """
    part = f"{record}/{layout.ALIVE}.{os.getpid()}"
    lock = os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(lock, dumps(_identity()).encode() + b"\n")
        os.link(part, f"{record}/{layout.ALIVE}")
    except FileExistsError:
        os.close(lock)
        return None
    finally:
        os.unlink(part)
    return lock


def state(record: str) -> str:
    """ABSENT before the agent has started, ALIVE while it runs, DEAD after it has ended."""
    try:
        file = os.open(f"{record}/{layout.ALIVE}", os.O_RDONLY)
    except FileNotFoundError:
        return ABSENT
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return ALIVE
    else:
        return DEAD
    finally:
        os.close(file)


def cancel(record: str) -> bool:
    """Request that the agent ends its benchmark; False when the agent is not running."""
    if state(record) != ALIVE:
        return False
    try:
        os.kill(_pid(record), SIGTERM)
    except (OSError, ValueError):
        return False
    return True


def kill_session(record: str) -> None:
    """Kill the process group that the agent leads."""
    try:
        os.killpg(_pid(record), SIGKILL)
    except (OSError, ValueError, KeyError):  # it has ended
        pass


def _pid(record: str) -> int:
    import json

    with open(f"{record}/{layout.ALIVE}", encoding="utf-8") as file:
        return int(json.load(file)["pid"])


def _identity() -> dict[str, object]:
    identity: dict[str, object] = {"pid": os.getpid()}
    try:
        with open("/proc/self/stat", "rb", buffering=0) as file:
            identity["start_ticks"] = int(file.read(1024).rpartition(b")")[2].split()[19])
        with open("/proc/sys/kernel/random/boot_id", "rb", buffering=0) as file:
            identity["boot_id"] = file.read(64).decode().strip()
    except OSError:  # no /proc: the lock is enough
        pass
    return identity
