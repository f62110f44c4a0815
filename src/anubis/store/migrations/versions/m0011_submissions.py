"""Submissions with a key store their runs once."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "submissions",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("runs", sa.Text, nullable=False),
        sa.Column("created_s", sa.Double, nullable=False),
    )
    op.create_index("submissions_created", "submissions", ["created_s"])
