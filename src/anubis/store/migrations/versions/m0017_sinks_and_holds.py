"""Sinks of events, events of removed runs, and runs that are held."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "sinks",
        sa.Column("no", sa.Integer, primary_key=True),
        sa.Column("id", sa.String(36), nullable=False, unique=True),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("kinds", sa.Text),
        sa.Column("created_s", sa.Double, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("state", sa.SmallInteger, nullable=False),
        sa.Column("due_s", sa.Double, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("delivered", sa.Integer, nullable=False),
        sa.Column("delivered_s", sa.Double),
        sa.Column("holder", sa.Text),
        sa.Column("until_s", sa.Double),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "removed_events",
        sa.Column(
            "seq",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("run", sa.LargeBinary, nullable=False),
        sa.Column("kind", sa.Integer, nullable=False),
        sa.Column("actor", sa.Integer),
        sa.Column("time_s", sa.Double, nullable=False),
        sa.Column("message", sa.Text),
        sa.Column("data", sa.Text),
    )
    op.create_table(
        "holds",
        sa.Column("run", sa.Integer, sa.ForeignKey("runs.no"), primary_key=True, autoincrement=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("created_s", sa.Double, nullable=False),
    )
