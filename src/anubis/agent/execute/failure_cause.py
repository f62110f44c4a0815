"""Why an execution failed, from evidence: kernel counters, the benchmark's own words, what the agent itself did.

Causes are the values of ``anubis.model.cause.Cause``, which the agent cannot import.
"""

from __future__ import annotations

import errno
import os

from anubis.record import layout

USER_ERROR = "user_error"
COMMAND_NOT_FOUND = "command_not_found"
OUT_OF_MEMORY = "out_of_memory"
DISK_FULL = "disk_full"
TIMEOUT = "timeout"
CANCELLED = "cancelled"
INTERNAL = "internal"


def says_disk_full(record: str) -> bool:
    """Whether the last words on stderr or stdout name a full disk."""
    words = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
    for name in (layout.STDERR, layout.STDOUT):
        try:
            with open(f"{record}/{name}", "rb", buffering=0) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
                tail = file.read(4096).decode("utf-8", "replace")
        except OSError:
            continue
        if any(word in tail for word in words):
            return True
    return False


def judge(code: int, signal: int | None, kills: int, alone: bool, record: str) -> tuple[str | None, str]:
    """Cause and sentence for an execution that ended by itself; no cause when it succeeded.

    An exit with 137 means out of memory only when the kernel counted a kill meanwhile (``kills``): a shell reports a
    killed child so, and any program may. Any other failure means it only when nobody else lives in the group.
    """
    if code == 0:
        return None, ""
    how = f"was killed by signal {signal}" if signal else f"ended with exit code {code}"
    if kills > 0 and (signal == 9 or code == 137):
        return OUT_OF_MEMORY, f"The benchmark {how}: the kernel killed it for want of memory."
    if kills > 0 and alone:
        return (
            OUT_OF_MEMORY,
            f"The benchmark {how} after the kernel had killed a part of it for want of memory.",
        )
    if says_disk_full(record):
        return DISK_FULL, f"The benchmark {how} and says that a disk is full."
    return USER_ERROR, f"The benchmark {how}."
