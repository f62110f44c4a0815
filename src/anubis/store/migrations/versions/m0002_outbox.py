"""The outbox takes the place of cursors over events, and the cell of a run becomes a column."""

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

PENDING = sa.text("status = 0")
#: Alert states and their numbers when this migration was written.
STATES = {"suspected": 1, "confirmed": 2, "acknowledged": 3, "accepted": 4, "muted": 5, "resolved": 6}
#: Name of the cursor up to which events had been searched for new addresses; addresses follow the prefix.
SCOUT, PREFIX = "notify", "notify/"
BATCH = 1000


def upgrade() -> None:
    op.add_column("runs", sa.Column("cell", sa.Text))
    _fill_cells()
    _create_outbox()
    _carry_over()
    op.drop_table("cursors")


def _events(kind: str, after_seq: int = 0) -> Iterator[Any]:
    """Events of one kind that have data, in order."""
    seq = after_seq
    query = sa.text(
        "SELECT events.seq, events.run, events.time_s, events.data FROM events "
        "JOIN words ON words.id = events.kind "
        "WHERE words.word = :kind AND events.seq > :seq AND events.data IS NOT NULL "
        "ORDER BY events.seq LIMIT :most"
    )
    while rows := op.get_bind().execute(query, {"kind": kind, "seq": seq, "most": BATCH}).all():
        yield from rows
        seq = rows[-1].seq


def _fill_cells() -> None:
    """Cells were data of the event that recorded the submission."""
    update = sa.text("UPDATE runs SET cell = :cell WHERE no = :run")
    cells = []
    for event in _events("submitted"):
        if cell := json.loads(event.data).get("cell"):
            cells.append({"run": event.run, "cell": json.dumps(cell, separators=(",", ":"))})
        if len(cells) == BATCH:
            op.get_bind().execute(update, cells)
            cells.clear()
    if cells:
        op.get_bind().execute(update, cells)


def _create_outbox() -> None:
    op.create_table(
        "deliveries",
        sa.Column("no", sa.Integer, primary_key=True),
        sa.Column("alert", sa.String(64), nullable=False),
        sa.Column("state", sa.SmallInteger, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("run", sa.Integer, sa.ForeignKey("runs.no", ondelete="SET NULL")),
        sa.Column("created_s", sa.Double, nullable=False),
        sa.Column("due_s", sa.Double, nullable=False),
        sa.Column("status", sa.SmallInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("ended_s", sa.Double),
        sa.Column("holder", sa.Text),
        sa.Column("until_s", sa.Double),
        sqlite_autoincrement=True,
    )
    op.create_index("deliveries_alert", "deliveries", ["alert"])
    op.create_index("deliveries_run", "deliveries", ["run"])
    op.create_index(
        "deliveries_pending", "deliveries", ["address", "no"], sqlite_where=PENDING, postgresql_where=PENDING
    )
    op.create_index(
        "deliveries_latest",
        "deliveries",
        ["alert", "address"],
        unique=True,
        sqlite_where=PENDING,
        postgresql_where=PENDING,
    )


def _carry_over() -> None:
    """Make a pending row of everything that no cursor had passed.

    An address without a cursor was not discovered yet, so everything after the scout is still due to it. Of several
    states of one alert only the last is due, in the place of the first.
    """
    connection = op.get_bind()
    cursors = {row.name: row.seq for row in connection.execute(sa.text("SELECT name, seq FROM cursors"))}
    scouted = cursors.pop(SCOUT, 0)
    positions = {name.removeprefix(PREFIX): seq for name, seq in cursors.items() if name.startswith(PREFIX)}
    known = {row.id: row.state for row in connection.execute(sa.text("SELECT id, state FROM alerts"))}
    pending: dict[tuple[str, str], dict[str, Any]] = {}
    for event in _events("alert", min([scouted, *positions.values()])):
        data = json.loads(event.data)
        alert = data.get("alert")
        if alert not in known:
            continue
        for address in data.get("to", ()):
            if event.seq > positions.get(address, scouted):
                pending.setdefault((alert, address), {"alert": alert, "address": address}).update(
                    state=STATES.get(data.get("state"), known[alert]), run=event.run, at=event.time_s
                )
    if pending:
        connection.execute(
            sa.text(
                "INSERT INTO deliveries (alert, state, address, run, created_s, due_s, status, attempts) "
                "VALUES (:alert, :state, :address, :run, :at, :at, 0, 0)"
            ),
            list(pending.values()),
        )
