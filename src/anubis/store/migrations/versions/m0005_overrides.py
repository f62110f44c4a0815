"""The overrides of a run become a column. Those of earlier runs were not stored."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("runs", sa.Column("overrides", sa.Text))
