"""The tables in SQLAlchemy Core. Their history is in ``migrations``.

Rows are small: ids are 16 bytes, enums are numbers (``codes``), values that repeat over runs (descriptors, names, series,
metrics, subjects) are stored once and referenced by number, and final runs are not in the index for claims. Times are UTC
seconds since 1970 as float64, which is lossless.

Only ``compile``, the migrations and tests import this module: importing SQLAlchemy takes 0.16 s, more than
any database operation of the command line.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)

from anubis.store.sql.codes import FIRST_FINAL, PENDING

metadata = MetaData()


def _run() -> Column[int]:
    return Column(
        "run", Integer, ForeignKey("runs.no", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )


#: Short texts that many rows share: clients, engines, families, folders, subjects, kinds of events.
words = Table(
    "words",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("word", Text, nullable=False, unique=True),
)

metrics = Table(
    "metrics",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("units", Text, nullable=False),
    UniqueConstraint("name", "units"),
)

series = Table(
    "series",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("series_key", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    UniqueConstraint("series_key", "fingerprint"),
)

#: Descriptors by digest: columns for listings, and the complete descriptor in ``body`` (canonical JSON, zstd).
descriptors = Table(
    "descriptors",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("series_key", Integer, nullable=False),  # words
    Column("name", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("labels", Text),  # JSON; NULL: none
    Column("body", LargeBinary, nullable=False),
    Index("descriptors_name", "name"),
)

#: The labels of descriptors, for queries.
labels = Table(
    "labels",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, primary_key=True),
    Column(
        "descriptor",
        Integer,
        ForeignKey("descriptors.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Index("labels_descriptor", "descriptor"),
    sqlite_with_rowid=False,
)

#: Descriptors as they were submitted (zstd), by the SHA-256 of the text.
texts = Table(
    "texts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("body", LargeBinary, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("no", Integer, primary_key=True),
    Column("id", LargeBinary, nullable=False, unique=True),
    Column("descriptor", Integer, nullable=False),
    Column("text", Integer, nullable=False),
    Column("client", Integer, nullable=False),  # words
    Column("engine", Integer, nullable=False),  # words
    Column("folder", Integer),  # words
    Column("family", Integer),  # words
    Column("parent", LargeBinary),
    Column("status", SmallInteger, nullable=False),
    Column("cause", SmallInteger),
    Column("cancel", SmallInteger, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("attempt", SmallInteger, nullable=False),
    Column("created_s", Double, nullable=False),
    Column("due_s", Double, nullable=False),
    Column("order_s", Double),
    Column("placed_s", Double),
    Column("ended_s", Double),
    Column("reason", Text, nullable=False),
    Column("placement", Text),  # JSON
    Column("holder", Text),  # the holder of the lease; NULL: none
    Column("ready_s", Double),  # when the lease ends, else when it is due; NULL: final
    Column("cell", Text),  # JSON; NULL: none
    Column("session", Integer),  # sessions; NULL: not measured
    Column("overrides", Text),  # JSON; NULL: none
    Column("series", Integer),  # of its points, which are all from one machine; NULL: no points
    Column("phase", Text),  # NULL: none
    Column("phase_s", Double),
    Column("cost", Double),  # NULL: unknown, or none
    Column("currency", Text),  # NULL: no attempt has ended; empty: the cost is unknown
    Column("project", Integer, nullable=False, server_default="1"),  # projects
    Column("turn", Double),  # see claims; NULL: it was never leased to start, or the lease was released
    Column("needs", Text),  # ids, JSON; NULL: none
    Column("indexed", SmallInteger),  # 1: its output is in log_chunks; NULL: not yet
    Column(
        "record_bytes", BigInteger
    ),  # of its record when it ended; NULL: it has not ended, or the record is deleted
    Index("runs_created", "created_s"),
    Index("runs_project", "project", "created_s"),
)
_recorded = text("record_bytes IS NOT NULL")
#: The bytes of the records of a project, from the index alone.
Index(
    "runs_bytes",
    runs.c.project,
    runs.c.record_bytes,
    sqlite_where=_recorded,
    postgresql_where=_recorded,
)
_measured = text("series IS NOT NULL")
#: The newest runs of a series, from the index alone.
Index(
    "runs_series",
    runs.c.series,
    func.coalesce(runs.c.order_s, runs.c.created_s),
    sqlite_where=_measured,
    postgresql_where=_measured,
)
_waiting = text("phase = 'needs'")
Index("runs_waiting", runs.c.no, sqlite_where=_waiting, postgresql_where=_waiting)
_unfinished = text(f"status < {FIRST_FINAL}")
Index(
    "runs_ready",
    runs.c.project,
    runs.c.priority.desc(),
    runs.c.ready_s,
    sqlite_where=_unfinished,
    postgresql_where=_unfinished,
)
_leased = text("turn IS NOT NULL")
Index("runs_turn", runs.c.project, runs.c.turn, sqlite_where=_leased, postgresql_where=_leased)
_unindexed = text(f"status >= {FIRST_FINAL} AND indexed IS NULL")
Index("runs_unindexed", runs.c.no, sqlite_where=_unindexed, postgresql_where=_unindexed)
for _column in (runs.c.family, runs.c.parent):
    _given = text(f"{_column.name} IS NOT NULL")
    Index(f"runs_{_column.name}", _column, sqlite_where=_given, postgresql_where=_given)

#: What was measured on one machine without a long pause. A later run may extend a session or join two of them.
sessions = Table(
    "sessions",
    metadata,
    Column("no", Integer, primary_key=True),
    Column("machine", Text, nullable=False),
    Column("start_s", Double, nullable=False),
    Column("end_s", Double, nullable=False),
    Index("sessions_machine", "machine", "start_s"),
)

events = Table(
    "events",
    metadata,
    Column("seq", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=False),
    Column("run", Integer, ForeignKey("runs.no", ondelete="CASCADE"), nullable=False),
    Column("kind", Integer, nullable=False),  # words
    Column("actor", Integer),  # words; NULL: Anubis itself
    Column("time_s", Double, nullable=False),
    Column("message", Text),  # NULL: none
    Column("data", Text),  # JSON; NULL: none
    Index("events_run", "run"),
)

#: One row: the number of the last event. A writer of events locks this row until the commit, so that the order of numbers
#: is the order of commits (see ``StoredEvents``).
event_count = Table("event_count", metadata, Column("seq", BigInteger, nullable=False))

points = Table(
    "points",
    metadata,
    _run(),
    Column("metric", Integer, primary_key=True, autoincrement=False),
    Column("series", Integer, nullable=False),
    Column("value", Double),  # NULL: not a number
    Column("spread", Double),
    Column("count", Integer, nullable=False),
    Column("better", SmallInteger, nullable=False),
    Column("order_s", Double, nullable=False),
    Column("subject", Integer, nullable=False),  # words
    Column("contaminated", SmallInteger, nullable=False),
    Index("points_metric", "metric", "series", "order_s"),
    sqlite_with_rowid=False,
)

#: Summary of the samples of one metric; NULL: not a number.
summaries = Table(
    "summaries",
    metadata,
    _run(),
    Column("metric", Integer, primary_key=True, autoincrement=False),
    Column("count", Integer, nullable=False),
    Column("last", Double),
    Column("min", Double),
    Column("max", Double),
    Column("sum", Double),
    sqlite_with_rowid=False,
)

#: Samples in segments, as packed columns (``columns``). On SQLite the table has row ids: without them a blob of a hundred
#: samples needs overflow pages and six times the space.
samples = Table(
    "samples",
    metadata,
    _run(),
    Column("metric", Integer, primary_key=True, autoincrement=False),
    Column("start", Integer, primary_key=True, autoincrement=False),  # position of its first sample
    Column("count", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("checksum", BigInteger, nullable=False, server_default="0"),  # columns.checksum
)

#: Submissions that can be repeated (``KeyedSubmission``).
submissions = Table(
    "submissions",
    metadata,
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("runs", Text, nullable=False),  # ids, JSON
    Column("created_s", Double, nullable=False),
    Index("submissions_created", "created_s"),
)

#: Triggers by name (``Trigger``: JSON, zstd).
triggers = Table(
    "triggers",
    metadata,
    Column("name", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

#: Reports to triggers (``TriggerDelivery``: JSON, zstd).
trigger_deliveries = Table(
    "trigger_deliveries",
    metadata,
    Column("trigger", Text, ForeignKey("triggers.name", ondelete="CASCADE"), primary_key=True),
    Column("delivery", Text, primary_key=True),
    Column("received_s", Double, nullable=False),
    Column("failed", SmallInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

#: Sweeps, each written again whenever its state changes.
sweeps = Table(
    "sweeps",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("running", SmallInteger, nullable=False),
    Column("created_s", Double, nullable=False),
    Column("body", LargeBinary, nullable=False),  # JSON, zstd
    Column("version", Integer, nullable=False),
    Index("sweeps_created", "created_s"),
    Index("sweeps_running", "running"),
)

alerts = Table(
    "alerts",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("benchmark", Text, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("opened_s", Double, nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Column("version", Integer, nullable=False, server_default="1"),
    Index("alerts_opened", "opened_s"),
)

#: The outbox. Rows of one address are delivered in the order of their numbers.
deliveries = Table(
    "deliveries",
    metadata,
    Column("no", Integer, primary_key=True),
    Column("alert", String(64), nullable=False),
    Column("state", SmallInteger, nullable=False),  # of the alert
    Column("address", Text, nullable=False),
    Column("run", Integer, ForeignKey("runs.no", ondelete="SET NULL")),  # NULL: it was removed
    Column("created_s", Double, nullable=False),
    Column("due_s", Double, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", Text),  # NULL: none
    Column("ended_s", Double),  # NULL: pending
    Column("holder", Text),  # who has the lease; NULL: no holder
    Column("until_s", Double),  # when the lease ends; NULL: no lease
    Index("deliveries_alert", "alert"),
    Index("deliveries_run", "run"),
    sqlite_autoincrement=True,
)
_pending = text(f"status = {PENDING}")
Index(
    "deliveries_pending",
    deliveries.c.address,
    deliveries.c.no,
    sqlite_where=_pending,
    postgresql_where=_pending,
)
#: One pending delivery for each alert and address.
Index(
    "deliveries_latest",
    deliveries.c.alert,
    deliveries.c.address,
    unique=True,
    sqlite_where=_pending,
    postgresql_where=_pending,
)

schedules = Table(
    "schedules",
    metadata,
    Column("no", Integer, primary_key=True),
    Column("id", LargeBinary, nullable=False, unique=True),
    Column("name", Text, nullable=False, unique=True),
    Column("body", LargeBinary, nullable=False),  # canonical JSON, zstd
    Column("text", LargeBinary, nullable=False),  # zstd
    Column("ready_s", Double),  # NULL: never
    Column("queued", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("holder", Text),  # who has the lease; NULL: no holder
    Column("until_s", Double),  # when the lease ends; NULL: no lease
)
_ready = text("ready_s IS NOT NULL")
Index("schedules_ready", schedules.c.ready_s, sqlite_where=_ready, postgresql_where=_ready)

#: What happened to due times. The primary key is why each due time starts once.
due_times = Table(
    "due_times",
    metadata,
    Column(
        "schedule",
        Integer,
        ForeignKey("schedules.no", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("due_s", Double, primary_key=True),
    Column("state", SmallInteger, nullable=False),
    Column("noted_s", Double, nullable=False),
    Column("run", LargeBinary),  # id of the first run; NULL: none
    Column("reason", Text),  # NULL: none
    Column("count", Integer, nullable=False),
    Column("last_s", Double),  # the last of several; NULL: one
    sqlite_with_rowid=False,
)

#: The table of Alembic, so that Alembic can migrate a database that was created from ``metadata``.
stamp = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
