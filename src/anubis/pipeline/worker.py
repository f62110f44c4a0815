"""The background worker: drives runs until all are final; at most one for each home folder."""

import contextlib
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from anubis.model.errors import AnubisError

#: How often to check whether all runs are final, seconds.
IDLE_S = 1.0
#: How long a worker without runs waits for outstanding chores (a receiver that is down), seconds.
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


def idle(home: Path, unfinished: Callable[[], int], outstanding: Callable[[], bool]) -> Callable[[], bool]:
    """The condition under which a worker ends: every run is final, no chore is outstanding.

    A chore that stays outstanding for an hour is left to the next worker. The condition raises AnubisError when the
    home folder no longer exists.
    """
    looked_s, done_s = -IDLE_S, time.monotonic()

    def is_idle() -> bool:
        nonlocal looked_s, done_s
        if not home.exists():
            raise AnubisError(
                f"the home folder {home} no longer exists", remedy="set ANUBIS_HOME to another folder"
            )
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


def work(home: Path, drive: Callable[[], None], unfinished: Callable[[], int]) -> bool:
    """Drive runs until all are final; False at once if another worker is active.

    The last check follows the release of the lock: for a run that is submitted while this worker ends, either this
    worker continues or the lock is free for a new one.
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
    """Start a worker that continues after this process ends, unless one is active; whether one was started."""
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
