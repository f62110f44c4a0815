"""Segments of samples get a checksum, which is verified when they are read."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from anubis.store.columns import checksum

revision = "0007"
down_revision = "0006"

#: Segments in memory at once, of up to half a megabyte each.
BATCH = 50


def upgrade() -> None:
    op.add_column("samples", sa.Column("checksum", sa.BigInteger, nullable=False, server_default="0"))
    last = {"run": -1, "metric": -1, "start": -1}
    while rows := _segments_after(last):
        last = {"run": rows[-1].run, "metric": rows[-1].metric, "start": rows[-1].start}
        op.get_bind().execute(
            sa.text(
                "UPDATE samples SET checksum = :checksum "
                "WHERE run = :run AND metric = :metric AND start = :start"
            ),
            [
                {
                    "run": row.run,
                    "metric": row.metric,
                    "start": row.start,
                    "checksum": checksum(bytes(row.body), row.start),
                }
                for row in rows
            ],
        )


def _segments_after(last: dict[str, int]) -> list[Any]:
    """The next segments in the order of the primary key."""
    statement = (
        "SELECT run, metric, start, body FROM samples "
        "WHERE (run, metric, start) > (:run, :metric, :start) ORDER BY run, metric, start LIMIT :batch"
    )
    return list(op.get_bind().execute(sa.text(statement), {**last, "batch": BATCH}).all())
