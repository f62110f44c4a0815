"""Lock files of this machine that one run has for itself: its slot, its CPUs and its GPUs.

The agent of the run inherits the locks, so the kernel frees them when it ends. The process that places the run holds them
until the agent has started. If that process is stopped meanwhile, the locks are recovered: first the claim of the attempt is
revoked, so that its agent never executes the benchmark, then the locked files are removed and new ones take their places.
"""

import fcntl
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

from anubis.pipeline.host import agent_record, peers
from anubis.record import access, liveness

log = logging.getLogger(__name__)

#: A lock is recovered after its run had no running agent for this long, seconds.
STALLED_S = 30.0
#: Size of a lock file, which contains the path of the record of the run that has it.
_NOTE_BYTES = 4096


class LockFiles:
    """The lock files of a folder, as one process sees them. The observations may come from several threads."""

    def __init__(self, folder: Path, now_s: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._now_s = now_s
        #: Path -> content of a lock file whose run has no running agent, and monotonic time of the first observation.
        self._without_agent: dict[Path, tuple[bytes, float]] = {}

    def path(self, name: str) -> Path:
        """The file of a lock."""
        return self._folder / f"{name}.lock"

    def take(self, name: str, record: str) -> int | None:
        """The descriptor of a lock for the run with this record; None if another run has the lock."""
        path = self.path(name)
        while True:
            lock = take_lock(path)
            if lock is None:
                if not self._recover(path):
                    return None
                continue
            if self._is_ending(path, record):
                os.close(lock)
                return None
            try:
                os.pwrite(lock, os.fsencode(record).ljust(_NOTE_BYTES, b"\0"), 0)
            except OSError:
                os.close(lock)
                raise
            if access.is_at(str(path), lock):
                return lock
            os.close(lock)  # it was recovered before its content was written

    @staticmethod
    def _is_ending(path: Path, record: str) -> bool:
        """Whether a replica of the run that had this lock before still runs: in containers, only the agent of the measured
        replica holds the lock.
        """
        before = _record(_note(path))
        return bool(before) and before != record and peers.are_running(Path(before))

    def _recover(self, path: Path) -> bool:
        """Remove a lock file that a stopped process holds; whether the lock can be taken now."""
        note = _note(path)
        if not self._is_stalled(path, note):
            return False
        guard = take_lock(path.with_suffix(".recovery"))
        if guard is None:
            return False
        try:
            if _note(path) != note:  # recovered meanwhile
                return False
            record = _record(note)
            if not agent_record.revoke(Path(record)) and liveness.state(record) == liveness.ALIVE:
                return False
            log.warning("recovered %s from a process that is stopped while it places %s", path, record)
            path.unlink()
        finally:
            os.close(guard)
        del self._without_agent[path]
        return True

    def _is_stalled(self, path: Path, note: bytes) -> bool:
        """Whether the run that has this lock had no running agent in all observations of ``STALLED_S``."""
        has_agent = not note or liveness.state(_record(note)) not in {liveness.ABSENT, liveness.DEAD}
        if has_agent:
            self._without_agent.pop(path, None)
            return False
        now_s = self._now_s()
        first, since_s = self._without_agent.get(path, (b"", now_s))
        if first != note:
            since_s = now_s
        self._without_agent[path] = note, since_s
        return now_s - since_s >= STALLED_S


def take_lock(path: Path) -> int | None:
    """The descriptor of a file that is now locked; None if another process holds the lock."""
    lock = access.create(str(path), os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _note(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_NOTE_BYTES)
    except FileNotFoundError:
        return b""


def _record(note: bytes) -> str:
    return os.fsdecode(note.rstrip(b"\0"))
