"""Datasets at their paths on this machine, for processes without containers: symbolic links to the trees of the cache.

A run holds a shared lock of each path through its agent, so that no other run puts other data there meanwhile.
"""

import fcntl
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from anubis.model.cause import Cause
from anubis.model.errors import NoCapacityError, StageError
from anubis.model.launch import Mount
from anubis.record import access


def put(mounts: Sequence[Mount], folder: Path, locks: list[int]) -> None:
    """Make the targets of the mounts links to their sources. ``folder`` has the lock files; ``locks`` gets those held.

    Raises StageError if a path is in use by something else or cannot be created, NoCapacityError if another run reads
    other data at a path now.
    """
    for mount in mounts:
        assert mount.source is not None
        name = hashlib.sha256(os.fsencode(mount.target)).hexdigest()[:32]
        lock = access.create(str(folder / f"path-{name}.lock"), os.O_RDWR | os.O_CLOEXEC)
        locks.append(lock)
        try:
            _put(Path(mount.target), Path(mount.source), lock)
        except OSError as error:
            raise StageError(
                f"the data cannot be put at {mount.target}: {error.strerror}",
                cause=Cause.DATA,
                remedy="set data.sources[].path to a path that this user can create, or run the benchmark in a container",
            ) from error


def _put(target: Path, source: Path, lock: int) -> None:
    _take(lock, fcntl.LOCK_SH, target)
    if _link_of(target) == source:
        return
    _take(lock, fcntl.LOCK_EX, target)
    present = _link_of(target)
    if present is None and os.path.lexists(target):
        _refuse(target, "a file or folder is there, which Anubis did not create")
    if present is not None and present.parent != source.parent:
        _refuse(target, f"a link to {present} is there, which this home folder did not create")
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f".{target.name}.{os.urandom(8).hex()}")
    new.symlink_to(source)
    new.replace(target)
    _take(lock, fcntl.LOCK_SH, target)


def _take(lock: int, mode: int, target: Path) -> None:
    try:
        fcntl.flock(lock, mode | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise NoCapacityError(
            f"another run reads other data at {target}",
            again_after_s=1.0,
            remedy="wait until it has ended, or use another path",
        ) from error


def _link_of(target: Path) -> Path | None:
    try:
        return target.readlink()
    except OSError:
        return None


def _refuse(target: Path, what: str) -> None:
    raise StageError(
        f"the data cannot be put at {target}: {what}",
        cause=Cause.DATA,
        remedy="remove it, or use another path in data.sources",
    )
