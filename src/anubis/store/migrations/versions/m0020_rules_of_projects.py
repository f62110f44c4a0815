"""Permissions, quotas and secrets of projects. Projects from before have every permission and no quota."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from anubis.store.text import unpacked

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    for column in (
        sa.Column("permits", sa.Text),
        sa.Column("max_waiting", sa.Integer),
        sa.Column("max_per_day", sa.Integer),
        sa.Column("max_record_bytes", sa.BigInteger),
        sa.Column("max_run_s", sa.Double),
    ):
        op.add_column("projects", column)
    op.create_table(
        "project_days",
        sa.Column("project", sa.Integer, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("submitted", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("project", "day", name="project_days_pk"),
    )
    op.create_table(
        "project_secrets",
        sa.Column("project", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("key", sa.String(16), nullable=False),
        sa.Column("changed_s", sa.Double, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("project", "name", name="project_secrets_pk"),
    )
    op.add_column("runs", sa.Column("record_bytes", sa.BigInteger))
    recorded = sa.text("record_bytes IS NOT NULL")
    op.create_index(
        "runs_bytes",
        "runs",
        ["project", "record_bytes"],
        sqlite_where=recorded,
        postgresql_where=recorded,
    )
    _name_schedules_in_projects()


def _name_schedules_in_projects() -> None:
    """Names of schedules are unique in their project: those of other projects than the first have its name before them."""
    schedules = sa.table(
        "schedules",
        sa.column("no", sa.Integer),
        sa.column("name", sa.Text),
        sa.column("body", sa.LargeBinary),
    )
    connection = op.get_bind()
    for row in connection.execute(sa.select(schedules)).all():
        plain: Any = json.loads(unpacked(bytes(row.body)))
        if (project := plain.get("project", "default")) != "default":
            connection.execute(
                sa.update(schedules).where(schedules.c.no == row.no).values(name=f"{project}:{row.name}")
            )
