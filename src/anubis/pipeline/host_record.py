"""Observe and cancel an agent through its record, for engines whose agents run on this machine."""

import contextlib
import os
import time
from pathlib import Path

from anubis.agent import process_tree
from anubis.model.cause import Cause
from anubis.model.run import Observation, Seen
from anubis.record import layout, liveness
from anubis.record.files import FolderFiles, read_json

#: Disk space that a run reserves, so that the store can still write its result on a full disk.
BALLAST_BYTES = 2 << 20
#: An agent that has not ended this long after a cancellation is killed with its session.
FORCE_S = 60.0


def take_ballast(record: Path) -> None:
    """Reserve disk space that is freed when the run has ended, so that the store can write its end on a full disk."""
    if hasattr(os, "posix_fallocate"):  # not available on macOS
        with (record / layout.BALLAST).open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, BALLAST_BYTES)


def observed(record: Path) -> Observation | None:
    """The state of the agent according to its record; None: the agent has not started yet.

    Repeats a requested cancellation. Kills the processes that a lost agent left behind.
    """
    if end := _ended(record):
        return end
    state = liveness.state(str(record))
    if state == liveness.ABSENT:
        return None
    if state == liveness.ALIVE:
        _insist(record)
        return Observation(seen=Seen.RUNNING)
    return _ended(record) or _lost(record)  # it may have ended between the two checks


def cancel(record: Path) -> None:
    """Ask the agent to end. The request is stored in the record, where an agent that starts later finds it.

    Only for agents in this machine's process namespace: the record contains the agent's process id.
    """
    with contextlib.suppress(OSError):  # no record, or the disk is full: the signal is not repeated
        (record / layout.CANCEL).touch(exist_ok=False)
    liveness.cancel(str(record))


def _ended(record: Path) -> Observation | None:
    last = read_json(FolderFiles(str(record)), layout.EXIT)
    if not last:
        return None
    _drop_ballast(record)
    cause = last.get("cause")
    return Observation(
        seen=Seen.ENDED,
        exit_code=last.get("code"),
        reason=last.get("reason", ""),
        cause=Cause(cause) if cause else None,
    )


def _lost(record: Path) -> Observation:
    left = process_tree.end_orphans(str(record))
    _drop_ballast(record)
    ended = f"; processes it left behind were killed: {left}" if left else ""
    return Observation(
        seen=Seen.LOST, reason=f"the agent vanished without writing the result of the run{ended}"
    )


def _drop_ballast(record: Path) -> None:
    (record / layout.BALLAST).unlink(missing_ok=True)


def _insist(record: Path) -> None:
    """Repeat a cancellation; kill an agent that has not ended after ``FORCE_S`` seconds."""
    try:
        asked_s = (record / layout.CANCEL).stat().st_mtime
    except FileNotFoundError:
        return
    if time.time() - asked_s > FORCE_S:
        liveness.kill_session(str(record))
    else:
        liveness.cancel(str(record))
