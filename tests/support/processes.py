"""Looking at processes, and waiting for something without sleeping for a guessed time."""

import os
import time
from pathlib import Path
from select import select

import pytest

from support.agents import is_running

#: Far longer than anything here takes on a busy machine: only a hang meets it.
PATIENCE_S = 60.0


def until(look, what, *, patience_s=PATIENCE_S):
    """Ask again and again until the answer is true; the answer. Fails, naming ``what``, when that never happens."""
    end_s = time.monotonic() + patience_s
    while not (found := look()):
        if time.monotonic() > end_s:
            pytest.fail(f"waited in vain until {what}")
        select([], [], [], 0.003)
    return found


def left_in(folder):
    """Living processes that this folder's agents and workers started, agents and workers included: it stands in their
    environment or on their command line.
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
