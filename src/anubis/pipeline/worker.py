"""The background worker: drives runs until none is left, at most one for each home folder."""

import contextlib
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from anubis.model.errors import AnubisError

#: Checked this often whether all runs are final, seconds.
IDLE_S = 1.0
#: How long a worker with nothing else to do goes on trying to tell people who do not answer, seconds.
PATIENCE_S = 3600.0


@contextlib.contextmanager
def only_worker(home: Path) -> Iterator[bool]:
    """Hold the worker's lock of a home folder; False when another process holds it."""
    lock = os.open(home / "worker.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(lock)


def idle(home: Path, unfinished: Callable[[], int], tell: Callable[[], bool]) -> Callable[[], bool]:
    """Asked again and again, whether a worker has nothing left to do: every run is final and everybody was told.

    ``tell`` tells people and says whether all could be told; whoever cannot be told for an hour is left to the next
    worker. What is returned raises AnubisError when the home folder is gone.
    """
    looked_s, told_s = 0.0, time.monotonic()

    def is_idle() -> bool:
        nonlocal looked_s, told_s
        now_s = time.monotonic()
        if now_s - looked_s < IDLE_S:
            return False
        looked_s = now_s
        if not home.exists():
            raise AnubisError(f"the home folder {home} is gone", remedy="start a worker in another one")
        if tell():
            told_s = now_s
        return unfinished() == 0 and (told_s == now_s or now_s - told_s > PATIENCE_S)

    return is_idle


def work(home: Path, drive: Callable[[], None], unfinished: Callable[[], int]) -> bool:
    """Drive until nothing is unfinished; False at once when another worker does so already.

    The last look is taken after the lock was given back: a run submitted while this worker was leaving finds
    either a worker or the lock free, never neither.
    """
    worked = False
    while True:
        with only_worker(home) as mine:
            if not mine:
                return worked
            drive()
            worked = True
        if unfinished() == 0:
            return worked


def start(home: Path) -> bool:
    """Start a worker that outlives this process, unless one is at work; whether one was started."""
    with only_worker(home) as free:
        if not free:
            return False
    with (home / "worker.log").open("ab") as log:
        subprocess.Popen(
            [sys.executable, "-m", "anubis", "worker"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "ANUBIS_HOME": str(home)},
        )
    return True
