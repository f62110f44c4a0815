"""The phase of a run and its cost become columns. The costs of earlier runs are unknown."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("runs", sa.Column("phase", sa.Text))
    op.add_column("runs", sa.Column("phase_s", sa.Double))
    op.add_column("runs", sa.Column("cost", sa.Double))
    op.add_column("runs", sa.Column("currency", sa.Text))
    op.execute("UPDATE runs SET currency = '' WHERE placed_s IS NOT NULL AND status >= 100")
