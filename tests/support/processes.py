"""Looking at processes, and waiting for something without sleeping for a guessed time."""

import os
import time
from pathlib import Path
from select import select

import pytest

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


def is_running(pid):
    """Whether a process lives (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def left_in(folder):
    """Living processes that this folder's agents and workers started, agents and workers included: it stands in their
    environment or on their command line.
    """
    mark, found = os.fsencode(str(folder)) + b"/", []
    for proc in Path("/proc").glob("[0-9]*"):
        pid = int(proc.name)
        try:
            words = (proc / "cmdline").read_bytes() + b"\0" + (proc / "environ").read_bytes()
        except OSError:
            continue
        if mark in words and pid != os.getpid() and is_running(pid):
            found.append(pid)
    return found
