"""The runs that a run needs, and triggers with their deliveries."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0011"

WAITING = sa.text("phase = 'needs'")


def upgrade() -> None:
    op.add_column("runs", sa.Column("needs", sa.Text))
    op.create_index("runs_waiting", "runs", ["no"], sqlite_where=WAITING, postgresql_where=WAITING)
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
