"""Determines why an execution failed: from kernel counters, the output of the benchmark and the agent's actions.

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
    """Whether the end of stderr or stdout reports a full disk."""
    messages = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
    for name in (layout.STDERR, layout.STDOUT):
        try:
            with open(f"{record}/{name}", "rb", buffering=0) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
                tail = file.read(4096).decode("utf-8", "replace")
        except OSError:
            continue
        if any(message in tail for message in messages):
            return True
    return False


def judge(code: int, signal: int | None, kills: int, alone: bool, record: str) -> tuple[str | None, str]:
    """Cause and reason of an execution that the agent did not end; no cause when it succeeded.

    Exit code 137 means out of memory only if the kernel counted a kill meanwhile (``kills``): a shell reports a killed
    child with this code, but any program may use it. After any other failure a kill counts only if the memory group
    contains no other processes (``alone``).
    """
    if code == 0:
        return None, ""
    how = f"was killed by signal {signal}" if signal else f"ended with exit code {code}"
    if kills > 0 and (signal == 9 or code == 137):
        return OUT_OF_MEMORY, f"The benchmark {how}: the kernel killed it because memory ran out."
    if kills > 0 and alone:
        return (
            OUT_OF_MEMORY,
            f"The benchmark {how} after the kernel had killed one of its processes because memory ran out.",
        )
    if says_disk_full(record):
        return DISK_FULL, f"The benchmark {how}; its output reports a full disk."
    return USER_ERROR, f"The benchmark {how}."
