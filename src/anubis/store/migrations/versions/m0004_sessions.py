"""Alerts get a version, and runs get the session in which they were measured."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

#: Longest pause inside a session when this migration was written, seconds.
PAUSE_S = 1800.0
BATCH = 1000
#: Runs with points: the kind of machine, and the time from the placement to the end.
MEASURED = """
SELECT runs.no, series.fingerprint, coalesce(runs.placed_s, runs.created_s) AS start_s, runs.ended_s
FROM runs JOIN (SELECT DISTINCT run, series FROM points) AS measured ON measured.run = runs.no
JOIN series ON series.id = measured.series
ORDER BY series.fingerprint, start_s, runs.no
"""


def upgrade() -> None:
    op.add_column("alerts", sa.Column("version", sa.Integer, nullable=False, server_default="1"))
    op.add_column("runs", sa.Column("session", sa.Integer))
    op.create_table(
        "sessions",
        sa.Column("no", sa.Integer, primary_key=True),
        sa.Column("machine", sa.Text, nullable=False),
        sa.Column("start_s", sa.Double, nullable=False),
        sa.Column("end_s", sa.Double, nullable=False),
    )
    op.create_index("sessions_machine", "sessions", ["machine", "start_s"])
    _fill_sessions()


def _fill_sessions() -> None:
    """Derive the sessions of stored runs from their times."""
    sessions: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    for row in op.get_bind().execute(sa.text(MEASURED)):
        end_s = max(row.start_s, row.ended_s or row.start_s)
        last = sessions[-1] if sessions else None
        if last is None or row.fingerprint != last["machine"] or row.start_s > last["end_s"] + PAUSE_S:
            last = {"machine": row.fingerprint, "start_s": row.start_s, "end_s": end_s}
            sessions.append(last)
        last["end_s"] = max(last["end_s"], end_s)
        runs.append({"run": row.no, "session": len(sessions)})
    add = sa.text("INSERT INTO sessions (machine, start_s, end_s) VALUES (:machine, :start_s, :end_s)")
    for start in range(0, len(sessions), BATCH):
        op.get_bind().execute(add, sessions[start : start + BATCH])
    put = sa.text("UPDATE runs SET session = :session WHERE no = :run")
    for start in range(0, len(runs), BATCH):
        op.get_bind().execute(put, runs[start : start + BATCH])
