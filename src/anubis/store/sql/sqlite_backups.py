"""Checks, copies and restores the database of an installation, also a damaged one."""

import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote
from uuid import UUID

from anubis.model.errors import BadInputError, DamagedDatabaseError, disk_error
from anubis.record import access
from anubis.store.columns import checksum
from anubis.store.sql.drivers import BUSY_S, driver_for
from anubis.store.sql.sqlite_reading import explained

#: Maximum number of problems that a check lists.
MOST_PROBLEMS = 20
_PART = ".part"
_LOGS = ("-wal", "-shm")
#: The bytes of a database that SQLite locks; they need not exist.
_SHARED_FIRST, _SHARED_SIZE = 0x40000002, 510


def path_of(database_url: str) -> Path:
    """The file of an SQLite database. Raises BadInputError for PostgreSQL."""
    driver = driver_for(database_url)
    if driver.name != "sqlite":
        raise BadInputError(
            f"the database {driver.place} is on a PostgreSQL server",
            remedy="use its tools: pg_dump and pg_restore for backups, pg_amcheck to check it",
        )
    return Path(driver.place)


def check(path: Path) -> None:
    """Read every page of a database and check its structure. Raises DamagedDatabaseError with what was found."""
    if not path.is_file():
        raise BadInputError(
            f"there is no database {path}", remedy="check ANUBIS_HOME and ANUBIS_DATABASE_URL"
        )
    with _reading(path) as connection:
        rows = connection.execute(f"PRAGMA integrity_check({MOST_PROBLEMS})").fetchall()
    problems = [line for (text,) in rows for line in str(text).splitlines()]
    if problems != ["ok"]:
        raise DamagedDatabaseError.of(str(path), "; ".join(problems))


def damaged_samples(path: Path) -> list[tuple[str, str]]:
    """Run id and metric of the samples whose checksum differs; empty for a database without checksums (an earlier schema)."""
    with _reading(path) as connection:
        if "checksum" not in {row[1] for row in connection.execute("PRAGMA table_info(samples)")}:
            return []
        segments = connection.execute(
            "SELECT runs.id, metrics.name, samples.start, samples.body, samples.checksum FROM samples "
            "JOIN runs ON runs.no = samples.run JOIN metrics ON metrics.id = samples.metric "
            "ORDER BY samples.run, samples.metric"
        )
        found = ((row[0], row[1]) for row in segments if checksum(row[3], row[2]) != row[4])
        return [(str(UUID(bytes=run_id)), metric) for run_id, metric in dict.fromkeys(found)]


def backup(path: Path, file: Path) -> None:
    """Write a copy of one moment; other processes may read and write meanwhile. Nothing is overwritten."""
    if file.exists():
        raise BadInputError(f"{file} exists already", remedy="name a new file")
    check(path)
    part = file.with_name(file.name + _PART)
    try:
        os.close(access.create(str(part), os.O_RDWR))  # SQLite would let everyone read it
        with _reading(path) as source, closing(sqlite3.connect(part)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
        part.replace(file)
    except sqlite3.Error as error:
        raise explained(str(file), error) from error
    except OSError as error:
        raise disk_error(f"{file} cannot be written", error) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def restore(path: Path, file: Path) -> Path | None:
    """Put a backup in the place of the database; where the replaced database is now, None if there was none.

    Raises BadInputError if another process has the database open.
    """
    check(file)
    with _reading(file) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
            raise BadInputError(f"{file} is not an Anubis database", remedy="give a file of anubis backup")
    part = path.with_name(path.name + _PART)
    part.unlink(missing_ok=True)
    try:
        backup(file, part)
        with closing(sqlite3.connect(part)) as restored:
            restored.execute("PRAGMA journal_mode = WAL")
        with _exclusive(path):
            kept = _moved_aside(path)
            part.replace(path)
    finally:
        for name in (part, *(part.with_name(part.name + log) for log in _LOGS)):
            name.unlink(missing_ok=True)
    return kept


def lease_owners(path: Path, now_s: float) -> list[str]:
    """The owners of leases that have not expired; none if the database cannot be read."""
    statement = "SELECT DISTINCT holder FROM runs WHERE holder IS NOT NULL AND ready_s > ? ORDER BY holder"
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
            return [owner for (owner,) in connection.execute(statement, (now_s,))]
    except sqlite3.Error:
        return []


@contextlib.contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Keep other processes from opening a database. Raises BadInputError if one has it open.

    In WAL mode every connection holds a shared lock on these bytes as long as it is open
    (https://www.sqlite.org/walformat.html#file_locks, src/os.h: SHARED_FIRST, SHARED_SIZE).
    """
    if not path.exists():
        yield
        return
    with path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST)
        except (BlockingIOError, PermissionError):
            raise BadInputError(
                f"another process has the database {path} open",
                remedy="end all commands, also those that are stopped (fuser lists them), then try again",
            ) from None
        yield


def _moved_aside(path: Path) -> Path | None:
    """Rename a database with its log, so that both can still be opened together."""
    if not path.exists():
        return None
    kept = path.with_name(f"{path.stem}-replaced-{time.strftime('%Y%m%dT%H%M%S')}{path.suffix}")
    number = 0
    while kept.exists():
        number += 1
        kept = kept.with_stem(f"{kept.stem}-{number}")
    for end in (*_LOGS, ""):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + end).rename(kept.with_name(kept.name + end))
    return kept


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a database that may be damaged. Raises DamagedDatabaseError for what SQLite cannot read."""
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)) as connection:
            yield connection
    except sqlite3.OperationalError as error:
        raise explained(str(path), error) from error
    except sqlite3.DatabaseError as error:
        raise DamagedDatabaseError.of(str(path), str(error)) from error
