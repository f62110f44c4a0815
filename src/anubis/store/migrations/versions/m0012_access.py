"""Users, projects, tokens and decisions about rights; every run belongs to a project."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    projects = op.create_table(
        "projects",
        sa.Column("no", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("created_s", sa.Double, nullable=False),
        sa.Column("weight", sa.Double, nullable=False, server_default="1"),
        sa.Column("max_running", sa.Integer),
    )
    op.bulk_insert(projects, [{"no": 1, "name": "default", "created_s": 0.0}])
    if op.get_bind().dialect.name == "postgresql":
        op.execute("SELECT setval(pg_get_serial_sequence('projects', 'no'), 1)")
    _create_users()
    _create_decisions()
    _put_runs_in_projects()


def _create_users() -> None:
    op.create_table(
        "users",
        sa.Column("no", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("created_s", sa.Double, nullable=False),
        sa.Column("disabled_s", sa.Double),
    )
    op.create_table(
        "group_members",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("user", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("name", "user", name="group_members_pk"),
    )
    op.create_table(
        "memberships",
        sa.Column("project", sa.Integer, nullable=False),
        sa.Column("member", sa.Text, nullable=False),
        sa.Column("role", sa.SmallInteger, nullable=False),
        sa.PrimaryKeyConstraint("project", "member", name="memberships_pk"),
    )
    op.create_table(
        "tokens",
        sa.Column("prefix", sa.String(12), primary_key=True),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("user", sa.Integer, nullable=False),
        sa.Column("project", sa.Integer, nullable=False),
        sa.Column("role", sa.SmallInteger, nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("created_s", sa.Double, nullable=False),
        sa.Column("expires_s", sa.Double, nullable=False),
        sa.Column("revoked_s", sa.Double),
        sa.Column("used_s", sa.Double),
    )


def _create_decisions() -> None:
    op.create_table(
        "decisions",
        sa.Column("no", sa.Integer, primary_key=True),
        sa.Column("time_s", sa.Double, nullable=False),
        sa.Column("last_s", sa.Double, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("allowed", sa.SmallInteger, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("decisions_time", "decisions", ["time_s"])


def _put_runs_in_projects() -> None:
    op.add_column("runs", sa.Column("project", sa.Integer, nullable=False, server_default="1"))
    op.create_index("runs_project", "runs", ["project", "created_s"])
    op.add_column("runs", sa.Column("turn", sa.Double))
    leased, unfinished = sa.text("turn IS NOT NULL"), sa.text("status < 100")
    op.create_index("runs_turn", "runs", ["project", "turn"], sqlite_where=leased, postgresql_where=leased)
    op.drop_index("runs_ready", "runs")
    op.create_index(
        "runs_ready",
        "runs",
        ["project", sa.text("priority DESC"), "ready_s"],
        sqlite_where=unfinished,
        postgresql_where=unfinished,
    )
