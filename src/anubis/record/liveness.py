"""Does the agent of a record live? Its file ``alive`` tells: it appears once, locked, and the lock dies with the agent."""

from __future__ import annotations

import fcntl
import os
from json import dumps
from signal import SIGTERM

NAME = "alive"
ABSENT, ALIVE, DEAD = "absent", "alive", "dead"


def claim(record: str) -> int | None:
    """Make the record this process's own: the descriptor to keep open for life, None when another one has it.

    The file is linked into place complete and locked, so nobody ever sees it half made.
    """
    own = f"{record}/{NAME}.{os.getpid()}"
    lock = os.open(own, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(lock, dumps(_identity()).encode() + b"\n")
        os.link(own, f"{record}/{NAME}")
    except FileExistsError:
        os.close(lock)
        return None
    finally:
        os.unlink(own)
    return lock


def state(record: str) -> str:
    """ABSENT before the agent has started, ALIVE while it runs, DEAD after it."""
    try:
        file = os.open(f"{record}/{NAME}", os.O_RDONLY)
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
    """Ask the agent to end its benchmark; False when it does not live any more (or not yet)."""
    import json

    if state(record) != ALIVE:
        return False
    try:
        with open(f"{record}/{NAME}", encoding="utf-8") as file:
            os.kill(json.load(file)["pid"], SIGTERM)
    except (OSError, ValueError):
        return False
    return True


def _identity() -> dict[str, object]:
    identity: dict[str, object] = {"pid": os.getpid()}
    try:
        with open("/proc/self/stat", "rb", buffering=0) as file:
            identity["start_ticks"] = int(file.read(1024).rpartition(b")")[2].split()[19])
        with open("/proc/sys/kernel/random/boot_id", "rb", buffering=0) as file:
            identity["boot_id"] = file.read(64).decode().strip()
    except OSError:  # no /proc: the lock alone tells
        pass
    return identity
