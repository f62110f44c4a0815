"""The first schema. ``anubis.store.sql.schema`` documents the tables and columns."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

UNFINISHED = sa.text("status < 100")


def upgrade() -> None:
    _dictionaries()
    _runs()
    _events()
    _measured()
    _watchers()


def _dictionaries() -> None:
    op.create_table(
        "words",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("word", sa.Text, nullable=False),
        sa.UniqueConstraint("word"),
    )
    op.create_table(
        "metrics",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("units", sa.Text, nullable=False),
        sa.UniqueConstraint("name", "units"),
    )
    op.create_table(
        "series",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("series_key", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.UniqueConstraint("series_key", "fingerprint"),
    )
    op.create_table(
        "descriptors",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("series_key", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("labels", sa.Text),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("digest"),
    )
    op.create_index("descriptors_name", "descriptors", ["name"])
    op.create_table(
        "labels",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, primary_key=True),
        sa.Column(
            "descriptor",
            sa.Integer,
            sa.ForeignKey("descriptors.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("labels_descriptor", "labels", ["descriptor"])
    op.create_table(
        "texts",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("digest"),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("no", sa.Integer, primary_key=True),
        sa.Column("id", sa.LargeBinary, nullable=False),
        sa.Column("descriptor", sa.Integer, nullable=False),
        sa.Column("text", sa.Integer, nullable=False),
        sa.Column("client", sa.Integer, nullable=False),
        sa.Column("engine", sa.Integer, nullable=False),
        sa.Column("folder", sa.Integer),
        sa.Column("family", sa.Integer),
        sa.Column("parent", sa.LargeBinary),
        sa.Column("status", sa.SmallInteger, nullable=False),
        sa.Column("cause", sa.SmallInteger),
        sa.Column("cancel", sa.SmallInteger, nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("attempt", sa.SmallInteger, nullable=False),
        sa.Column("created_s", sa.Double, nullable=False),
        sa.Column("due_s", sa.Double, nullable=False),
        sa.Column("order_s", sa.Double),
        sa.Column("placed_s", sa.Double),
        sa.Column("ended_s", sa.Double),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("placement", sa.Text),
        sa.Column("holder", sa.Text),
        sa.Column("ready_s", sa.Double),
        sa.UniqueConstraint("id"),
    )
    op.create_index("runs_created", "runs", ["created_s"])
    for column in ("family", "parent"):
        given = sa.text(f"{column} IS NOT NULL")
        op.create_index(f"runs_{column}", "runs", [column], sqlite_where=given, postgresql_where=given)
    op.create_index(
        "runs_ready",
        "runs",
        [sa.text("priority DESC"), "ready_s"],
        sqlite_where=UNFINISHED,
        postgresql_where=UNFINISHED,
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column(
            "seq",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("run", sa.Integer, sa.ForeignKey("runs.no", ondelete="CASCADE"), nullable=False),
        sa.Column("kind", sa.Integer, nullable=False),
        sa.Column("actor", sa.Integer),
        sa.Column("time_s", sa.Double, nullable=False),
        sa.Column("message", sa.Text),
        sa.Column("data", sa.Text),
    )
    op.create_index("events_run", "events", ["run"])
    op.create_table("event_count", sa.Column("seq", sa.BigInteger, nullable=False))
    op.execute("INSERT INTO event_count (seq) VALUES (0)")


def _run() -> "sa.Column[int]":
    return sa.Column(
        "run", sa.Integer, sa.ForeignKey("runs.no", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )


def _measured() -> None:
    op.create_table(
        "points",
        _run(),
        sa.Column("metric", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("series", sa.Integer, nullable=False),
        sa.Column("value", sa.Double),
        sa.Column("spread", sa.Double),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("better", sa.SmallInteger, nullable=False),
        sa.Column("order_s", sa.Double, nullable=False),
        sa.Column("subject", sa.Integer, nullable=False),
        sa.Column("contaminated", sa.SmallInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("points_metric", "points", ["metric", "series"])
    op.create_table(
        "summaries",
        _run(),
        sa.Column("metric", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("last", sa.Double),
        sa.Column("min", sa.Double),
        sa.Column("max", sa.Double),
        sa.Column("sum", sa.Double),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "samples",
        _run(),
        sa.Column("metric", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("start", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def _watchers() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("benchmark", sa.Text, nullable=False),
        sa.Column("state", sa.SmallInteger, nullable=False),
        sa.Column("opened_s", sa.Double, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("alerts_opened", "alerts", ["opened_s"])
    op.create_table(
        "cursors",
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
    )
