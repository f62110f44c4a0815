"""The runs that a run needs, and triggers with their deliveries."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0013"

WAITING = sa.text("phase = 'needs'")


def upgrade() -> None:
    op.add_column("runs", sa.Column("needs", sa.Text))
    op.create_index("runs_waiting", "runs", ["no"], sqlite_where=WAITING, postgresql_where=WAITING)
