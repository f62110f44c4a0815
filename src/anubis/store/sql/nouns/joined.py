"""Tables of joined workers and their assignments, and the statements about them. ``compile`` turns them into SQL."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Double,
    Executable,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    Text,
    and_,
    delete,
    func,
    literal_column,
    select,
    update,
)

from anubis.store.sql.queries import given
from anubis.store.sql.schema import metadata

#: Machines that joined as places to run.
joined_workers = Table(
    "joined_workers",
    metadata,
    Column("name", Text, primary_key=True),
    Column("token", Text, unique=True),  # digest; NULL: revoked
    Column("body", LargeBinary, nullable=False),  # JSON, zstd
    Column("seen_s", Double),  # NULL: never
    Column("beats", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
)

#: Attempts that wait for joined workers, or that they have or had.
assignments = Table(
    "assignments",
    metadata,
    Column("run", String(36), primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("worker", Text),  # NULL: it waits
    Column("queued_s", Double, nullable=False),
    Column("is_open", SmallInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),  # JSON, zstd
    Column("version", BigInteger, nullable=False),
    Index("assignments_open", "is_open", "worker"),
)

_one: ColumnElement[int] = literal_column("1")


def statements(upsert: Callable[..., Any]) -> dict[str, Executable]:
    """By name. ``upsert``: the insert of a dialect that knows ON CONFLICT."""
    return _workers(upsert) | _assignments(upsert)


def _workers(upsert: Callable[..., Any]) -> dict[str, Executable]:
    workers = joined_workers
    new = {column.name: given(column.name) for column in workers.c}
    next_version = {"version": workers.c.version + _one}
    this = workers.c.name == given("name")
    return {
        "add_joined_worker": upsert(workers)
        .values(new)
        .on_conflict_do_nothing()
        .returning(workers.c.version),
        "change_joined_worker": update(workers)
        .where(this, workers.c.version == given("expected"))
        .values({"token": given("token"), "body": given("body"), **next_version})
        .returning(workers.c.version),
        "beat_joined_worker": update(workers)
        .where(this, workers.c.token == given("token"))
        .values(
            {
                "body": given("body"),
                "seen_s": given("seen_s"),
                "beats": workers.c.beats + _one,
                **next_version,
            }
        )
        .returning(workers.c.beats, workers.c.version),
        # Locks the row: a request of the worker comes before or after the transaction.
        "lock_joined_worker": update(workers).where(this).values(next_version).returning(workers.c.beats),
        "joined_worker": select(workers).where(this),
        "joined_worker_of_token": select(workers).where(workers.c.token == given("token")),
        "joined_workers": select(workers),
    }


def _assignments(upsert: Callable[..., Any]) -> dict[str, Executable]:
    new = {column.name: given(column.name) for column in assignments.c}
    this = and_(assignments.c.run == given("run"), assignments.c.attempt == given("attempt"))
    is_open = assignments.c.is_open == _one
    rows = select(assignments.c.body, assignments.c.version)
    changed = {name: given(name) for name in ("worker", "is_open", "body")}
    return {
        "add_assignment": upsert(assignments).values(new).on_conflict_do_nothing(),
        "change_assignment": update(assignments)
        .where(this, assignments.c.version == given("expected"), is_open)
        .values({**changed, "version": assignments.c.version + _one})
        .returning(assignments.c.version),
        "assignment": rows.where(this),
        "assigned": rows.where(is_open, assignments.c.worker == given("worker")),
        "open_assignments": rows.where(is_open),
        "count_waiting": select(func.count(assignments.c.run).label("count")).where(
            is_open, assignments.c.worker.is_(None)
        ),
        "forget_assignments": delete(assignments).where(
            assignments.c.is_open == literal_column("0"), assignments.c.queued_s < given("before_s")
        ),
    }
