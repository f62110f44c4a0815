"""The background worker: drives runs until all are final; at most one for each home folder."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from anubis.model.errors import AnubisError, disk_error
from anubis.pipeline.lease_owner import boot
from anubis.record import access

#: How often to check whether all runs are final, seconds.
IDLE_S = 1.0
#: How long a worker without runs waits for outstanding chores (a receiver that is down), seconds.
PATIENCE_S = 3600.0
#: How often a worker notes its progress, seconds.
NOTE_EVERY_S = 1.0
#: A worker without progress for this long is stopped or blocked and is replaced, seconds.
STALLED_S = 30.0
_LOCK = "worker.lock"
_NOTE_BYTES = 128


class WorkerLock:
    """The lock of the worker of a home folder. Its file contains the time of the worker's last progress.

    A worker that is stopped keeps its lock. Another one then puts a new file in the place of the locked one.
    """

    def __init__(self, home: Path, file: int) -> None:
        self._path = home / _LOCK
        self._file = file
        self._noted_s = -NOTE_EVERY_S

    def keep(self) -> bool:
        """Note progress, at most once a second; False if another worker has replaced this one."""
        now_s = time.monotonic()
        if now_s - self._noted_s < NOTE_EVERY_S:
            return True
        self._noted_s = now_s
        _note(self._file)
        return access.is_at(str(self._path), self._file)


@contextlib.contextmanager
def only_worker(home: Path) -> Iterator[WorkerLock | None]:
    """Hold the worker's lock of a home folder; None when another process holds it and makes progress.

    Raises StoreError if the home folder cannot be written.
    """
    try:
        file = _locked(home / _LOCK)
    except OSError as error:
        raise disk_error(f"no worker can be started in {home}", error) from error
    try:
        yield None if file is None else WorkerLock(home, file)
    finally:
        if file is not None:
            os.close(file)


def _locked(path: Path) -> int | None:
    """The descriptor of the locked file."""
    while True:
        file = access.create(str(path), os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stalled = _is_stalled(os.pread(file, _NOTE_BYTES, 0))
            os.close(file)
            return _replaced(path) if stalled else None
        if access.is_at(str(path), file):
            _note(file)
            return file
        os.close(file)  # another worker replaced the file meanwhile


def _replaced(path: Path) -> int:
    """Put a new, locked file at this path; the worker that has locked the old one yields when it continues."""
    new = path.with_name(f"{path.name}-{os.urandom(8).hex()}")
    file = access.create(str(new), os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    fcntl.flock(file, fcntl.LOCK_EX)
    _note(file)
    new.replace(path)
    return file


def _note(file: int) -> None:
    """Write the time of the progress. The monotonic clock is that of the machine since its start."""
    note = {"pid": os.getpid(), "boot": boot(), "monotonic_s": time.monotonic()}
    # On a full disk another worker may replace this one, which is harmless.
    with contextlib.suppress(OSError):
        os.pwrite(file, json.dumps(note).encode().ljust(_NOTE_BYTES), 0)


def _is_stalled(note: bytes) -> bool:
    """Whether a worker on this machine made no progress for ``STALLED_S``; False where that is unknown."""
    try:
        noted = json.loads(note)
        return bool(noted["boot"] == boot() and time.monotonic() - noted["monotonic_s"] > STALLED_S)
    except (ValueError, LookupError, TypeError):
        return False


def idle(
    home: Path, lock: WorkerLock, unfinished: Callable[[], int], outstanding: Callable[[], bool]
) -> Callable[[], bool]:
    """The condition under which a worker ends: every run is final, no chore is outstanding; or it was replaced.

    A chore that stays outstanding for an hour is left to the next worker. The condition raises AnubisError when the
    home folder no longer exists.
    """
    looked_s, done_s = -IDLE_S, time.monotonic()

    def is_idle() -> bool:
        nonlocal looked_s, done_s
        if not home.exists():
            raise _no_home(home)
        if not lock.keep():
            return True
        now_s = time.monotonic()
        if not outstanding():
            done_s = now_s
        elif now_s - done_s <= PATIENCE_S:
            return False
        if now_s - looked_s < IDLE_S:
            return False
        looked_s = now_s
        return unfinished() == 0

    return is_idle


def stopped(home: Path, lock: WorkerLock | None, asked: threading.Event) -> Callable[[], bool]:
    """The condition under which a worker that keeps schedules ends: it was asked to. Raises like that of ``idle``."""

    def is_stopped() -> bool:
        if not home.exists():
            raise _no_home(home)
        if lock is not None:
            lock.keep()
        return asked.is_set()

    return is_stopped


@contextlib.contextmanager
def ended_by_signal(asked: threading.Event) -> Iterator[None]:
    """Set the event at SIGTERM and SIGINT instead of ending the process at once."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: asked.set()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _no_home(home: Path) -> AnubisError:
    return AnubisError(f"the home folder {home} no longer exists", remedy="set ANUBIS_HOME to another folder")


def work(home: Path, drive: Callable[[WorkerLock], None], unfinished: Callable[[], int]) -> bool:
    """Drive runs until all are final; False at once if another worker is active.

    The last check follows the release of the lock: for a run that is submitted while this worker ends, either this
    worker continues or the lock is free for a new one.
    """
    worked = False
    while True:
        with only_worker(home) as lock:
            if lock is None:
                return worked
            drive(lock)
            worked = True
        if unfinished() == 0:
            return worked


def start(home: Path) -> bool:
    """Start a worker that continues after this process ends, unless one makes progress; whether one was started."""
    with only_worker(home) as lock:
        if lock is None:
            return False
    with os.fdopen(access.create(str(home / "worker.log"), os.O_WRONLY | os.O_APPEND), "ab") as log:
        subprocess.Popen(
            [sys.executable, "-m", "anubis", "worker"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "ANUBIS_HOME": str(home)},
        )
    return True
