"""Opening a database: creates a new one, migrates an old one, refuses one of a newer version."""

import re
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from anubis.late import late
from anubis.model.errors import AnubisError, DamagedDatabaseError, StoreError
from anubis.model.points import SESSION_PAUSE_S
from anubis.store.access.identities import StoredIdentities
from anubis.store.access.projects import StoredProjects
from anubis.store.alerts import StoredAlerts
from anubis.store.deliveries import StoredDeliveries
from anubis.store.dictionaries import Dictionaries
from anubis.store.events import StoredEvents
from anubis.store.joined.stored import StoredJoinedWorkers
from anubis.store.leases import StoredLeases
from anubis.store.logs.index import StoredLogIndex
from anubis.store.points import StoredPoints
from anubis.store.receivers.sinks import StoredHolds, StoredSinks
from anubis.store.runs import StoredRuns
from anubis.store.schedules.stored import StoredSchedules
from anubis.store.sql.database import Database, Session, statements_of
from anubis.store.sql.drivers import BUSY_S, driver_for
from anubis.store.sql.sqlite_reading import may_be_readable
from anubis.store.suites.submissions import Submissions
from anubis.store.suites.sweeps import StoredSweeps
from anubis.store.suites.triggers import StoredTriggers

if TYPE_CHECKING:
    from anubis.store.migrations import upgrade as migrations
else:  # Alembic takes 0.4 s
    migrations = late("anubis.store.migrations.upgrade")

#: The newest revision in ``migrations/versions``; what ``create`` in the ``.sql`` files makes. Revisions count up.
VERSION = "0020"
#: Pause before a refused statement is executed again, seconds.
_AGAIN_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """An open database. Usable from several threads; other processes may have it open too."""

    runs: StoredRuns
    leases: StoredLeases
    events: StoredEvents
    points: StoredPoints
    alerts: StoredAlerts
    deliveries: StoredDeliveries
    schedules: StoredSchedules
    sweeps: StoredSweeps
    identities: StoredIdentities
    projects: StoredProjects
    log_index: StoredLogIndex
    sinks: StoredSinks
    holds: StoredHolds
    joined: StoredJoinedWorkers
    triggers: StoredTriggers
    database: Database
    #: Makes a store of the same database for some projects.
    narrowed: Callable[[Sequence[str] | None], "Store"]

    def within(self, projects: Collection[str]) -> "Store":
        """The same store, in which only the runs, sweeps, schedules, alerts and series of these projects exist."""
        return self.narrowed(sorted(projects))

    def keep_room(self) -> None:
        """Reserve some space on the disk of the database, for when runs fill it."""
        self.database.driver.keep_room()

    def close(self) -> None:
        """Close every connection."""
        self.database.close()


def open_store(url: str, *, session_pause_s: float = SESSION_PAUSE_S) -> Store:
    """The store at ``sqlite:////absolute/path``, ``sqlite:///relative/path`` or ``postgresql://...``.

    ``session_pause_s`` is the longest pause inside a session. Raises StoreError if the database cannot be reached,
    BadInputError for another kind of URL, and AnubisError if a newer version of Anubis or another program created it.
    """
    database = Database(driver_for(url))
    try:
        database = _brought_up(database)
    except sqlite3.DatabaseError as error:  # only of a file that SQLite cannot read
        database.close()
        raise DamagedDatabaseError.of(
            database.driver.place, f"it is not an SQLite database: {error}"
        ) from error
    except BaseException:
        database.close()
        raise
    dictionaries = Dictionaries(database)
    return _store(database, dictionaries, Submissions(database, dictionaries), session_pause_s, None)


def _store(
    database: Database,
    dictionaries: Dictionaries,
    submissions: Submissions,
    session_pause_s: float,
    within: Sequence[str] | None,
) -> Store:
    return Store(
        runs=StoredRuns(database, dictionaries, submissions, session_pause_s, within),
        leases=StoredLeases(database, dictionaries, session_pause_s),
        events=StoredEvents(database, dictionaries, within),
        points=StoredPoints(database, within),
        alerts=StoredAlerts(database, dictionaries, within),
        deliveries=StoredDeliveries(database, dictionaries),
        schedules=StoredSchedules(database, dictionaries, within),
        sweeps=StoredSweeps(database, within),
        identities=StoredIdentities(database),
        projects=StoredProjects(database),
        log_index=StoredLogIndex(database),
        sinks=StoredSinks(database),
        holds=StoredHolds(database, dictionaries),
        joined=StoredJoinedWorkers(database),
        triggers=StoredTriggers(database, within),
        database=database,
        narrowed=partial(_store, database, dictionaries, submissions, session_pause_s),
    )


def _brought_up(database: Database) -> Database:
    """The database with the current schema; opened for reading only if it cannot be written."""
    try:
        if _version(database) != VERSION:
            _bring_up(database)
    except StoreError as error:
        driver = database.driver
        if driver.read_only is None or not may_be_readable(error.__cause__):
            raise
        database.close()
        readable = Database(driver.read_only())
        if _version(readable) != VERSION:
            readable.close()
            raise
        return readable
    return database


def _execute_when_free(session: Session, statement: str) -> None:
    """Execute a statement that SQLite refuses at once, without its timeout, while another process writes."""
    end_s = time.monotonic() + BUSY_S
    while True:
        try:
            session.connection.execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end_s:
                raise
            time.sleep(_AGAIN_S)
        else:
            return


def _version(database: Database) -> str | None:
    """The revision of the schema; None in a new database."""
    with database.session() as session:
        return _version_in(session)


def _tables(session: Session) -> set[str]:
    return {row.name for row in session.ask(session.driver.tables, {})}


def _version_in(session: Session) -> str | None:
    if "alembic_version" not in _tables(session):
        return None
    rows = session.rows("version")
    return str(rows[0].version_num) if rows else None


def _bring_up(database: Database) -> None:
    """Create or migrate the schema under an exclusive lock; a second process finds it done."""
    driver = database.driver
    with database.session() as session:
        for statement in driver.prepare:
            _execute_when_free(session, statement)

    def alone(session: Session) -> str:
        for statement in driver.alone:
            session.connection.execute(statement)
        version = _version_in(session)
        if version is None:
            _create(session)
        return version or VERSION

    version = database.transact(alone)
    if version != VERSION and not (version.isdigit() and version < VERSION):
        raise AnubisError(
            f"the database {driver.place} has schema {version}; this version of Anubis supports {VERSION}",
            remedy="upgrade Anubis, or set ANUBIS_DATABASE_URL to another database",
        )
    if version != VERSION:
        migrations.upgrade(driver)


def _create(session: Session) -> None:
    create = statements_of(session.driver.name)["create"]
    if taken := _tables(session) & set(re.findall(r"^CREATE TABLE (\w+)", create, re.MULTILINE)):
        raise AnubisError(
            f"the database {session.driver.place} has tables of another program: {', '.join(sorted(taken))}",
            remedy="set ANUBIS_DATABASE_URL to a separate database",
        )
    for statement in create.split(";\n"):
        session.connection.execute(statement)
    session.write("first_event_count")
    session.write("first_project")
    session.write("stamp", version=VERSION)
