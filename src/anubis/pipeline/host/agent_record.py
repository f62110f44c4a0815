"""Observe and cancel an agent through its record, for engines whose agents run on this machine."""

import contextlib
import json
import os
import time
from pathlib import Path

from anubis.agent import process_tree
from anubis.model.run import Observation, Seen
from anubis.pipeline.record_result import RecordResult, damaged, result_of
from anubis.record import access, layout, liveness
from anubis.record.files import FolderFiles, read_json, replace
from anubis.record.reading import Record

#: Disk space that a run reserves, so that the store can still write its result on a full disk.
BALLAST_BYTES = 2 << 20
#: An agent that has not ended this long after a cancellation is killed with its session.
FORCE_S = 60.0
#: Bytes at the end of an agent's own output that are read.
_LONGEST_LOG = 1 << 20


def is_overdue(record: Path) -> bool:
    """Whether the agent has not ended for so long after a cancellation that it must be killed."""
    return requested_s(record) > FORCE_S


def agent_log(record: str) -> bytes:
    """The end of the output of the agent itself."""
    files = FolderFiles(record)
    state = files.state(layout.AGENT_LOG)
    start = max(0, state.size_bytes - _LONGEST_LOG) if state else 0
    return files.read(layout.AGENT_LOG, start, _LONGEST_LOG)


def take_ballast(record: Path) -> None:
    """Reserve disk space that is freed when the run has ended, so that the store can write its end on a full disk."""
    if hasattr(os, "posix_fallocate"):  # not available on macOS
        with os.fdopen(access.create(str(record / layout.BALLAST), os.O_WRONLY | os.O_TRUNC), "wb") as file:
            os.posix_fallocate(file.fileno(), 0, BALLAST_BYTES)


def drop_ballast(record: Path) -> None:
    """Free the reserved disk space."""
    with contextlib.suppress(OSError):  # it is gone, or the benchmark replaced it
        (record / layout.BALLAST).unlink()


def observed(record: Path) -> Observation | None:
    """The state of the agent according to its record; None: the agent has not started yet.

    Repeats a requested cancellation. Kills the processes that a lost agent left behind. Never blocks, whatever the
    record contains: a benchmark can write to it.
    """
    result = _result(record)
    if result and not result.is_damaged:
        return _ended(record, result)
    state = liveness.state(str(record))
    if state == liveness.ALIVE:  # the agent replaces a damaged exit.json at its end
        _insist(record)
        return Observation(seen=Seen.RUNNING)
    if result := _result(record):  # it may have ended between the two checks
        return _ended(record, result)
    if state == liveness.DAMAGED:
        problem = FolderFiles(str(record)).problem(layout.ALIVE) or f"{layout.ALIVE} cannot be read"
        return _ended(record, damaged(problem))
    if state == liveness.DEAD:
        return _lost(record)
    if requested_s(record) > FORCE_S:
        return give_up(record, "the agent had not started when the run was cancelled")
    return None


def give_up(record: Path, reason: str) -> Observation | None:
    """Declare an agent lost that has not appeared. It never executes the benchmark, even if it was only stopped.

    None: it has appeared meanwhile.
    """
    if record.exists() and not revoke(record):
        return observed(record)
    return _lost(record, reason)


def revoke(record: Path) -> bool:
    """Ensure that an agent that has not appeared never executes the benchmark; False: it has appeared.

    An agent that a stopped process starts later finds the claim revoked, and ends.
    """
    is_revoked = liveness.revoke(str(record)) or liveness.is_revoked(str(record))
    if is_revoked:
        drop_ballast(record)
    return is_revoked


def cancel(record: Path) -> None:
    """Ask the agent to end. The request is stored in the record, where an agent that starts later finds it.

    Only for agents in this machine's process namespace: the record contains the agent's process id.
    """
    if not os.path.lexists(record / layout.CANCEL):
        _note_request(record)
    with contextlib.suppress(OSError):
        liveness.cancel(str(record))


def _result(record: Path) -> RecordResult | None:
    files = FolderFiles(str(record))
    if problem := files.problem(layout.EXIT):
        return damaged(problem)
    return result_of(Record(files))


def _ended(record: Path, result: RecordResult) -> Observation:
    if result.is_damaged:
        process_tree.end_orphans(str(record))
    drop_ballast(record)
    return Observation(seen=Seen.ENDED, exit_code=result.exit_code, reason=result.reason, cause=result.cause)


def _lost(record: Path, reason: str = "") -> Observation:
    left = process_tree.end_orphans(str(record))
    drop_ballast(record)
    if not reason:
        is_revoked = liveness.is_revoked(str(record))
        reason = (
            "the agent did not start"
            if is_revoked
            else "the agent vanished without writing the result of the run"
        )
    ended = f"; processes it left behind were killed: {left}" if left else ""
    return Observation(seen=Seen.LOST, reason=reason + ended)


def _insist(record: Path) -> None:
    """Repeat a cancellation; kill an agent that has not ended after ``FORCE_S`` seconds."""
    waited_s = requested_s(record)
    if waited_s > FORCE_S:
        liveness.kill_session(str(record))
    elif waited_s >= 0:
        liveness.cancel(str(record))


def requested_s(record: Path) -> float:
    """Seconds since the cancellation; -1 without one.

    By the monotonic clock of the machine: it does not jump, and all processes since the start of the machine share it.
    """
    if not os.path.lexists(record / layout.CANCEL):
        return -1.0
    asked_s, now_s = read_json(FolderFiles(str(record)), layout.CANCEL).get("monotonic_s"), time.monotonic()
    if isinstance(asked_s, int | float) and asked_s <= now_s:
        return now_s - asked_s
    _note_request(record)  # by an earlier release, or damaged
    return 0.0


def _note_request(record: Path) -> None:
    """Store the time of a cancellation; an empty file, which needs no space, if the disk is full."""
    content = json.dumps({"monotonic_s": time.monotonic()}).encode() + b"\n"
    with contextlib.suppress(OSError):  # no record, or no space for a file: the request is not repeated
        try:
            replace(str(record), layout.CANCEL, content)
        except OSError:
            (record / layout.CANCEL).touch()
