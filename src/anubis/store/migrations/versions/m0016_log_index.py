"""The index of the output of runs. Runs that have ended already are indexed in the background."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

_UNINDEXED = sa.text("status >= 100 AND indexed IS NULL")


def upgrade() -> None:
    op.add_column("runs", sa.Column("indexed", sa.SmallInteger))
    op.create_index("runs_unindexed", "runs", ["no"], sqlite_where=_UNINDEXED, postgresql_where=_UNINDEXED)
    op.create_table(
        "log_chunks",
        sa.Column(
            "run",
            sa.Integer,
            sa.ForeignKey("runs.no", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("role", sa.Text, primary_key=True),
        sa.Column("rank", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("stream", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("start", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("end", sa.BigInteger, nullable=False),
        sa.Column("line", sa.BigInteger, nullable=False),
        sa.Column("entry", sa.BigInteger, nullable=False),
        sa.Column("first_s", sa.Double, nullable=False),
        sa.Column("last_s", sa.Double, nullable=False),
        sa.Column("bitmap", sa.LargeBinary, nullable=False),
    )
