"""Sweeps are stored before their runs."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "sweeps",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("running", sa.SmallInteger, nullable=False),
        sa.Column("created_s", sa.Double, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
    )
    op.create_index("sweeps_created", "sweeps", ["created_s"])
    op.create_index("sweeps_running", "sweeps", ["running"])
