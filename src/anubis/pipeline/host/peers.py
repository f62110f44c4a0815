"""The replicas of a run beside the measured one: ended with it, whatever has become of their agents."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from anubis.agent import process_tree
from anubis.model.run import Observation, Seen
from anubis.pipeline.host import agent_record
from anubis.record import layout, liveness
from anubis.record.files import FileState, FolderFiles
from anubis.record.reading import Record

#: An agent that has not ended this long after the measured one is killed with its session, seconds.
FORCE_S = 30.0
#: The agent of the measured replica ends the run soon after another replica has failed. If it has not done so after this
#: time, it is stopped, and the run is cancelled.
STALLED_S = 60.0


def records(measured: Path) -> list[Path]:
    """The records of the other replicas of the attempt: those that an engine and those that a launcher started."""
    found = []
    try:
        with os.scandir(measured.parent.parent) as roles:
            for role in roles:
                if role.is_dir(follow_symlinks=False):
                    with os.scandir(role.path) as ranks:
                        found += [Path(rank.path) for rank in ranks if _is_record(rank)]
    except FileNotFoundError:  # the run was removed
        return []
    return sorted(path for path in found if path != measured)


def are_running(measured: Path) -> bool:
    """Whether an agent of the other replicas runs."""
    return any(liveness.state(str(other)) == liveness.ALIVE for other in records(measured))


def _kill_session(record: Path) -> None:
    liveness.kill_session(str(record))


def settled(
    measured: Path, observation: Observation, kill: Callable[[Path], None] = _kill_session
) -> Observation:
    """The observation of a run: it has ended when all of its replicas have. Ends those that are left.

    ``kill`` kills the replica with a record whose agent does not end.
    """
    others = records(measured)
    if not others:
        return observation
    if observation.seen in {Seen.ENDED, Seen.LOST}:
        is_over = [_end(other, kill) for other in others]
        return (
            observation if all(is_over) else Observation(seen=Seen.RUNNING, reason="the other replicas end")
        )
    if observation.seen is Seen.RUNNING and any(has_failed_long_ago(other) for other in others):
        agent_record.cancel(measured)
    return observation


def _is_record(rank: os.DirEntry[str]) -> bool:
    return rank.name.isdecimal() and rank.is_dir(follow_symlinks=False)


def _end(record: Path, kill: Callable[[Path], None]) -> bool:
    """End a replica; whether nothing of it is left."""
    state = liveness.state(str(record))
    if state == liveness.ABSENT and agent_record.revoke(record):
        return True
    if liveness.state(str(record)) == liveness.ALIVE:
        agent_record.cancel(record)
        if agent_record.requested_s(record) > FORCE_S:
            kill(record)
        return False
    if FolderFiles(str(record)).state(layout.EXIT) is None and not liveness.is_revoked(str(record)):
        process_tree.end_orphans(str(record))
    return True


def has_failed_long_ago(record: Path) -> bool:
    """Whether the agent with this record wrote a failure so long ago that the measured one should have ended."""
    files = FolderFiles(str(record))
    state = files.state(layout.EXIT)
    if state is None or not is_older(state, STALLED_S):
        return False
    return Record(files).exit.get("cause") is not None


def is_older(state: FileState, seconds: float) -> bool:
    """Whether a file was last changed longer ago than this."""
    return time.time() - state.modified_s >= seconds
