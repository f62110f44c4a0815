"""Reading an SQLite database that cannot be written: a full disk, a read-only disk, missing permissions.

A database in WAL mode needs files beside it, also for reading: the log of commits that are not in the database file yet
(``-wal``), and its index (``-shm``), which SQLite creates. Where that fails, the file is read alone, without locks.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from anubis.model.errors import FullError, ReadOnlyError, StoreError

#: Results of SQLite because of which a database may still be readable without its index.
_NOT_WRITABLE = {
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
}
_COPIES = 3


def explained(place: str, error: Exception) -> StoreError:
    """The error for users about an exception of SQLite."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}:
        kind = FullError if code == sqlite3.SQLITE_FULL else ReadOnlyError
        return kind(
            f"the database {place} cannot be written: {str(error).strip()}",
            remedy="free space on its disk, or make its folder writable; stored runs can still be read",
        )
    return StoreError(
        f"the database {place} cannot be used: {str(error).strip()}",
        remedy="check its disk (space, permissions), then try again",
    )


def may_be_readable(error: BaseException | None) -> bool:
    """Whether the database of this exception may be readable by ``read_only_connection``."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _NOT_WRITABLE


def read_only_connection(path: str) -> sqlite3.Connection:
    """A connection that only reads, and creates no file beside the database.

    If the log is empty, all commits are in the database file, which is read in place. Else file and log are copied to
    a temporary folder and merged there: without the log, the latest commits would be missing. Raises StoreError.
    """
    if not Path(path).is_file():
        raise ReadOnlyError(
            f"the database {path} does not exist and cannot be created",
            remedy="free space on its disk, make its folder writable, or set ANUBIS_HOME to another folder",
        )
    if _size(_log(path)):
        return _merged_copy(path)
    return _connection(f"file:{quote(str(Path(path).absolute()))}?mode=ro&immutable=1")


def _connection(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    connection.execute("PRAGMA query_only = ON")
    return connection


def _merged_copy(path: str) -> sqlite3.Connection:
    """A connection to a copy with all commits of the log. The files of the copy are removed at once and stay open."""
    needed = _size(path) + _size(_log(path))
    try:
        with tempfile.TemporaryDirectory(prefix="anubis-read-") as folder:
            copy = str(Path(folder, "copy.db"))
            _copy(path, copy)
            connection = _connection(f"file:{quote(copy)}")
            connection.execute("PRAGMA query_only = OFF")
            connection.execute("PRAGMA journal_mode = DELETE")  # merges the log
            connection.execute("PRAGMA query_only = ON")
            return connection
    except OSError as error:
        raise ReadOnlyError(
            f"the latest commits of {path} are in its log, which cannot be read in place: {error.strerror}",
            remedy=f"set TMPDIR to a folder with {needed:,} bytes free, or make the folder of the database writable",
        ) from error


def _copy(path: str, copy: str) -> None:
    """Copy database and log of one moment. Raises StoreError if a process of another machine keeps writing them."""
    for _ in range(_COPIES):
        before = _stamps(path)
        shutil.copyfile(path, copy)
        shutil.copyfile(_log(path), _log(copy))
        if _stamps(path) == before:
            return
    raise StoreError(f"the database {path} is being written by another process", remedy="try again")


def _stamps(path: str) -> Sequence[tuple[int, int]]:
    states = [Path(each).stat() for each in (path, _log(path))]
    return [(state.st_size, state.st_mtime_ns) for state in states]


def _log(path: str) -> str:
    return f"{path}-wal"


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
