"""Locks of files between agents."""

from __future__ import annotations

import fcntl


def is_locked(file: int) -> bool:
    """Lock an open file for this process; False if another process holds the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
