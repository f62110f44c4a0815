"""Tables of joined workers and of the attempts that they were assigned."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "joined_workers",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("token", sa.Text, unique=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("seen_s", sa.Double),
        sa.Column("beats", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "assignments",
        sa.Column("run", sa.String(36), primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("worker", sa.Text),
        sa.Column("queued_s", sa.Double, nullable=False),
        sa.Column("is_open", sa.SmallInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
    )
    op.create_index("assignments_open", "assignments", ["is_open", "worker"])
