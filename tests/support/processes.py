"""Lists processes, and waits for conditions without sleeping for a fixed time."""

import os
import time
from pathlib import Path
from select import select

import pytest

from support.agents import is_running

#: Far longer than anything here takes on a busy machine: only a hang meets it.
PATIENCE_S = 60.0


def until(look, what, *, patience_s=PATIENCE_S):
    """Poll until the result is true, and return it. Fails with ``what`` in the message when that never happens."""
    end_s = time.monotonic() + patience_s
    while not (found := look()):
        if time.monotonic() > end_s:
            pytest.fail(f"waited in vain until {what}")
        select([], [], [], 0.003)
    return found


def left_in(folder):
    """Running agents and workers of this folder and the processes that they started: those with the folder in their
    environment or command line.
    """
    marks, found = [os.fsencode(str(folder)) + end for end in (b"/", b"\0")], []
    for proc in Path("/proc").glob("[0-9]*"):
        pid = int(proc.name)
        try:
            words = (proc / "cmdline").read_bytes() + b"\0" + (proc / "environ").read_bytes() + b"\0"
        except OSError:
            continue
        if any(mark in words for mark in marks) and pid != os.getpid() and is_running(pid):
            found.append(pid)
    return found
