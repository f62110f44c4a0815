"""Tables of schedules and their due times."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

READY = sa.text("ready_s IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "schedules",
        sa.Column("no", sa.Integer, primary_key=True),
        sa.Column("id", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("text", sa.LargeBinary, nullable=False),
        sa.Column("ready_s", sa.Double),
        sa.Column("queued", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("holder", sa.Text),
        sa.Column("until_s", sa.Double),
    )
    op.create_index("schedules_ready", "schedules", ["ready_s"], sqlite_where=READY, postgresql_where=READY)
    op.create_table(
        "due_times",
        sa.Column(
            "schedule",
            sa.Integer,
            sa.ForeignKey("schedules.no", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("due_s", sa.Double, primary_key=True),
        sa.Column("state", sa.SmallInteger, nullable=False),
        sa.Column("noted_s", sa.Double, nullable=False),
        sa.Column("run", sa.LargeBinary),
        sa.Column("reason", sa.Text),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("last_s", sa.Double),
        sqlite_with_rowid=False,
    )
