"""The tables of sinks, of the events of removed runs, and of held runs; see ``schema``."""

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    Text,
)

from anubis.store.sql.schema import metadata

#: Receivers of events.
sinks = Table(
    "sinks",
    metadata,
    Column("no", Integer, primary_key=True),
    Column("id", String(36), nullable=False, unique=True),
    Column("address", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("kinds", Text),  # JSON; NULL: all
    Column("created_s", Double, nullable=False),
    Column("seq", BigInteger, nullable=False),  # of the last event
    Column("state", SmallInteger, nullable=False),
    Column("due_s", Double, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", Text),  # NULL: none
    Column("delivered", Integer, nullable=False),
    Column("delivered_s", Double),  # NULL: never
    Column("holder", Text),  # who has the lease; NULL: no holder
    Column("until_s", Double),  # when the lease ends; NULL: no lease
    sqlite_autoincrement=True,
)

#: Events of removed runs: those that a sink must still get, and the event about the removal.
removed_events = Table(
    "removed_events",
    metadata,
    Column("seq", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=False),
    Column("run", LargeBinary, nullable=False),  # its id
    Column("kind", Integer, nullable=False),  # words
    Column("actor", Integer),  # words; NULL: Anubis itself
    Column("time_s", Double, nullable=False),
    Column("message", Text),  # NULL: none
    Column("data", Text),  # JSON; NULL: none
)

#: Runs that cannot be removed. Without a rule for deletion the database refuses it, too.
holds = Table(
    "holds",
    metadata,
    Column("run", Integer, ForeignKey("runs.no"), primary_key=True, autoincrement=False),
    Column("why", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("created_s", Double, nullable=False),
)
