"""Space that an SQLite database keeps free on its disk, so that runs can end and be deleted when others have filled it."""

import contextlib
import os
import shutil
from pathlib import Path

from anubis.record import access

#: Size of the reserve: the log of many transactions. It is kept on disks with many times this space.
SIZE_BYTES = 1 << 20
_SHARE = 8


def keep(path: str) -> None:
    """Create the reserve of the database at this path, unless it exists or the disk is nearly full or read-only."""
    file = _file(path)
    if file.exists():
        return
    with contextlib.suppress(OSError):
        if shutil.disk_usage(file.parent).free < _SHARE * SIZE_BYTES:
            return
        created = access.create(str(file), os.O_WRONLY | os.O_EXCL)
        try:
            os.posix_fallocate(created, 0, SIZE_BYTES)
        finally:
            os.close(created)


def give_up(path: str) -> bool:
    """Delete the reserve; whether there was one."""
    try:
        _file(path).unlink()
    except OSError:
        return False
    return True


def _file(path: str) -> Path:
    return Path(f"{path}-reserve")
