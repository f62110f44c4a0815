"""The index of the output of runs, and statements about it. ``compile`` turns them into the SQL of each database."""

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Double,
    Executable,
    ForeignKey,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    delete,
    insert,
    literal_column,
    null,
    select,
    update,
)

from anubis.store.sql.codes import FIRST_FINAL
from anubis.store.sql.queries import among, given
from anubis.store.sql.schema import metadata, runs

#: The index of the output of final runs. With row ids, like samples.
log_chunks = Table(
    "log_chunks",
    metadata,
    Column("run", Integer, ForeignKey("runs.no", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("role", Text, primary_key=True),
    Column("rank", Integer, primary_key=True, autoincrement=False),
    Column("stream", SmallInteger, primary_key=True, autoincrement=False),  # position in layout.STREAMS
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("end", BigInteger, nullable=False),
    Column("line", BigInteger, nullable=False),
    Column("entry", BigInteger, nullable=False),
    Column("first_s", Double, nullable=False),
    Column("last_s", Double, nullable=False),
    Column("bitmap", LargeBinary, nullable=False),
)

# Spelt out, not a parameter: only then does the planner see that the partial index answers it.
_final: ColumnElement[bool] = runs.c.status >= literal_column(str(FIRST_FINAL))


def statements() -> dict[str, Executable]:
    """By name."""
    columns = [column for column in log_chunks.c if column.name != "run"]
    return {
        "unindexed": select(runs.c.id, runs.c.no, runs.c.placed_s)
        .where(_final, runs.c.indexed.is_(None), runs.c.no < given("before"))
        .order_by(runs.c.no.desc())
        .limit(given("most")),
        "final_numbers": select(runs.c.id, runs.c.no).where(among(runs.c.id, "ids"), _final),
        "note_indexed": update(runs).where(among(runs.c.no, "numbers")).values(indexed=literal_column("1")),
        "forget_indexes": update(runs).where(among(runs.c.id, "ids")).values(indexed=null()),
        "forget_log_chunks": delete(log_chunks).where(among(log_chunks.c.run, "numbers")),
        "add_log_chunk": insert(log_chunks).values(
            {column.name: given(column.name) for column in log_chunks.c}
        ),
        # Runs without output too, in one statement: runs may be indexed at the same time.
        "log_chunks": select(runs.c.id, *columns)
        .outerjoin_from(runs, log_chunks, runs.c.no == log_chunks.c.run)
        .where(among(runs.c.id, "ids"), runs.c.indexed.is_not(None))
        .order_by(
            runs.c.no,
            log_chunks.c.attempt,
            log_chunks.c.role,
            log_chunks.c.rank,
            log_chunks.c.stream,
            log_chunks.c.start,
        ),
    }
