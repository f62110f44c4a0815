"""All differences between SQLite and PostgreSQL: connections, transactions, and locks for schema changes."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anubis.model.errors import AnubisError, BadInputError, DamagedDatabaseError, StoreError
from anubis.record import access
from anubis.store.sql import reserve
from anubis.store.sql.sqlite_reading import explained, read_only_connection

#: Timeout of a statement that waits for another writer, seconds.
BUSY_S = 60.0
_OLDEST_SQLITE = (3, 35, 0)  # RETURNING
#: Key of the advisory lock for schema changes: an arbitrary number that must never change.
_SCHEMA_LOCK = 0x616E7562


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """One database with a DB-API driver."""

    #: ``sqlite`` or ``postgresql``: the file of statements.
    name: str
    #: SQLAlchemy's name for it and its driver, for migrations.
    dialect: str
    #: Location of the database, without a password.
    place: str
    #: A new connection in autocommit mode.
    connect: Callable[[], Any]
    #: Begins a transaction that writes.
    begin: str
    #: Whether a commit waits for the disk, from the next transaction on: no, yes.
    durable: tuple[str, str]
    #: Statements before the first transaction of a new database, and first in every one that changes the schema.
    prepare: tuple[str, ...]
    alone: tuple[str, ...]
    #: Statement that lists the names of existing tables.
    tables: str
    #: How a parameter is written, for ``str.format``.
    parameter: str
    #: How bytes are written out in hexadecimal, for ``str.format``.
    blob: str
    #: Exceptions of a database that is unavailable, busy or full.
    trouble: tuple[type[Exception], ...]
    #: The error for users about one of these exceptions.
    explain: Callable[[Exception], StoreError]
    #: Whether an exception means that the content of the database is damaged.
    is_damage: Callable[[Exception], bool]
    #: The error for users about such damage.
    damaged: Callable[[str], AnubisError]
    #: The same database for reading only, while it cannot be written; None: not possible.
    read_only: Callable[[], "Driver"] | None = None
    #: Whether several transactions can write at the same time.
    many_writers: bool = False
    #: Create the reserve of space on the disk of the database, and give it up on a full disk; whether there was one.
    keep_room: Callable[[], None] = lambda: None
    make_room: Callable[[], bool] = lambda: False
    #: Tells the listeners of other processes when the transaction commits, with the parameter ``news``; empty: not possible.
    notify: str = ""
    #: Exceptions of conflicting transactions, after which the transaction can be repeated.
    conflict: tuple[type[Exception], ...] = ()


def driver_for(url: str) -> Driver:
    """``sqlite:///relative``, ``sqlite:////absolute`` (the rest is the path, as it is) or a libpq URL."""
    scheme, separator, rest = url.partition("://")
    if scheme == "sqlite" and len(rest) > 1 and rest.startswith("/") and rest != "/:memory:":
        return _sqlite(rest[1:])
    if scheme in {"postgresql", "postgresql+psycopg", "postgres"} and separator:
        return _postgresql(f"postgresql://{rest}")
    raise BadInputError(
        f"unknown database URL scheme {scheme!r}",
        remedy="set ANUBIS_DATABASE_URL to sqlite:////path/anubis.db or postgresql://user@host/name",
    )


def _sqlite(path: str) -> Driver:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise AnubisError(
            f"this Python has SQLite {sqlite3.sqlite_version}; Anubis needs 3.35 or newer",
            remedy="use a newer Python, or PostgreSQL through ANUBIS_DATABASE_URL",
        )

    def connect() -> sqlite3.Connection:
        if not os.path.exists(path):  # noqa: PTH110  # SQLite gives its other files the permissions of this one
            with contextlib.suppress(OSError):  # SQLite reports why
                os.close(access.create(path, os.O_RDWR))
        connection = sqlite3.connect(
            path, timeout=BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    place = str(Path(path).absolute())
    driver = Driver(
        name="sqlite",
        dialect="sqlite+pysqlite",
        place=place,
        connect=connect,
        # FULL: a committed transaction survives a power failure, at the cost of one fdatasync per transaction.
        durable=("PRAGMA synchronous = NORMAL", "PRAGMA synchronous = FULL"),
        begin="BEGIN IMMEDIATE",  # a transaction that reads first cannot be upgraded after another one wrote
        prepare=("PRAGMA journal_mode = WAL",),
        alone=(),
        tables="SELECT name FROM sqlite_master WHERE type = 'table'",
        parameter=":{}",
        blob="x'{}'",
        trouble=(sqlite3.OperationalError,),
        explain=lambda error: explained(place, error),
        is_damage=lambda error: getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT,
        damaged=lambda problem: DamagedDatabaseError.of(place, problem),
        keep_room=lambda: reserve.keep(path),
        make_room=lambda: reserve.give_up(path),
    )
    return replace(
        driver,
        read_only=lambda: replace(driver, connect=lambda: read_only_connection(path), keep_room=lambda: None),
    )


def _postgresql(url: str) -> Driver:
    try:
        import psycopg  # noqa: PLC0415  an optional extra
    except ImportError as error:
        raise StoreError(
            "PostgreSQL needs the driver psycopg, which is not installed",
            remedy="pip install 'anubis-bench[postgresql]'",
        ) from error

    def connect() -> Any:
        try:
            return psycopg.connect(url, autocommit=True, application_name="anubis")
        except psycopg.ProgrammingError as error:  # its text may repeat the address, with a password
            raise BadInputError(
                f"the address in ANUBIS_DATABASE_URL is not valid: {str(error).partition(':')[0].strip()}",
                remedy="set it to postgresql://USER@HOST/NAME; options follow a question mark",
            ) from None

    place = url.rpartition("@")[2].partition("?")[0].removeprefix("postgresql://")
    return Driver(
        name="postgresql",
        dialect="postgresql+psycopg",
        place=place,
        connect=connect,
        many_writers=True,
        durable=("SET synchronous_commit = off", "SET synchronous_commit = on"),
        begin="BEGIN",
        prepare=(),
        alone=(f"SELECT pg_advisory_xact_lock({_SCHEMA_LOCK})",),
        tables="SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
        parameter="%({})s",
        blob="'\\x{}'::bytea",
        trouble=(psycopg.OperationalError, psycopg.InterfaceError),
        explain=lambda error: StoreError(
            f"the database {place} cannot be used: {str(error).strip()}",
            remedy="check its server, then try again",
        ),
        is_damage=lambda error: isinstance(
            error, psycopg.errors.DataCorrupted | psycopg.errors.IndexCorrupted
        ),
        damaged=lambda problem: BadInputError(
            f"the database {place} is damaged: {problem}",
            remedy="check it with pg_amcheck, or restore a dump of pg_dump",
        ),
        notify="SELECT pg_notify('anubis', %(news)s)",
        conflict=(psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure),
    )
