"""Copies a database to an SQLite file, as it is at one moment, and an SQLite file to an empty PostgreSQL database."""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from anubis.model.errors import BadInputError
from anubis.store.opening import open_store
from anubis.store.sql import sqlite_backups
from anubis.store.sql.database import chunked
from anubis.store.sql.drivers import Driver, driver_for

#: Rows that are read and written together.
_ROWS = 1000


def snapshot(url: str, file: Path) -> None:
    """Write the content of a database at one moment to a new SQLite file; other processes may write meanwhile.

    Raises StoreError, and DamagedDatabaseError for a damaged SQLite database.
    """
    driver = driver_for(url)
    if driver.name == "sqlite":
        sqlite_backups.backup(Path(driver.place), file)
        return
    open_store(f"sqlite:///{file}").close()
    try:
        with contextlib.closing(_connected(driver)) as source, _opened(file) as copy:
            source.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            copy.execute("BEGIN")
            for table, columns in _tables(copy).items():
                copy.execute(f'DELETE FROM "{table}"')  # noqa: S608  # nosec B608  the names are ours
                into = f'INSERT INTO "{table}" ({_names(columns)}) VALUES ({", ".join("?" * len(columns))})'  # noqa: S608  # nosec B608
                with source.cursor(name="backup") as cursor:
                    cursor.itersize = _ROWS
                    cursor.execute(f'SELECT {_names(columns)} FROM "{table}"')  # noqa: S608  # nosec B608
                    for rows in chunked(cursor, _ROWS):
                        copy.executemany(into, rows)
            copy.execute("COMMIT")
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
    except driver.trouble as error:
        raise driver.explain(error) from error


def load(file: Path, url: str) -> None:
    """Write the content of an SQLite file with the current schema to a PostgreSQL database without runs, all or nothing."""
    open_store(url).close()  # creates the tables
    driver = driver_for(url)
    try:
        with contextlib.closing(_connected(driver)) as target, _opened(file) as source:
            target.execute("BEGIN")
            tables = _tables(source)
            # Also keeps another restore, and writers, from the tables until the end of the transaction.
            target.execute(f"LOCK TABLE {_names(list(tables))} IN ACCESS EXCLUSIVE MODE")
            check_empty(driver, target)
            for table in reversed(list(tables)):
                target.execute(f'DELETE FROM "{table}"')  # noqa: S608  # nosec B608
            for table, columns in tables.items():
                _fill(source, target, table, columns)
            target.execute("COMMIT")
    except driver.trouble as error:
        raise driver.explain(error) from error


def check_empty(driver: Driver, connection: Any) -> None:
    """Raises BadInputError if the database has runs."""
    if connection.execute("SELECT 1 FROM runs LIMIT 1").fetchone():
        raise BadInputError(
            f"the database {driver.place} has runs already",
            remedy="set ANUBIS_DATABASE_URL to an empty database",
        )


def _fill(source: sqlite3.Connection, target: Any, table: str, columns: Sequence[str]) -> None:
    cursor = target.cursor()
    rows = source.execute(f'SELECT {_names(columns)} FROM "{table}"')  # noqa: S608  # nosec B608
    with cursor.copy(f'COPY "{table}" ({_names(columns)}) FROM STDIN') as copy:
        for row in rows:
            copy.write_row(row)
    counted = cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", (table, columns[0])).fetchone()[0]
    if counted:
        highest = f'SELECT setval(%s, coalesce(max("{columns[0]}"), 0) + 1, false) FROM "{table}"'  # noqa: S608  # nosec B608
        cursor.execute(highest, (counted,))


def _tables(connection: sqlite3.Connection) -> Mapping[str, Sequence[str]]:
    """The columns of each table, the tables in the order of their creation: a table follows those it refers to."""
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
    )
    return {
        name: [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
        for (name,) in names.fetchall()
    }


def _names(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _connected(driver: Driver) -> Any:
    connection = driver.connect()
    connection.autocommit = True
    return connection


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        yield connection
