"""Triggers and their deliveries."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "triggers",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "trigger_deliveries",
        sa.Column("trigger", sa.Text, sa.ForeignKey("triggers.name", ondelete="CASCADE"), primary_key=True),
        sa.Column("delivery", sa.Text, primary_key=True),
        sa.Column("received_s", sa.Double, nullable=False),
        sa.Column("failed", sa.SmallInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
