"""The tables of users, projects, tokens and decisions about rights."""

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    String,
    Table,
    Text,
)

from anubis.store.sql.schema import metadata

#: ``no`` 1 is the project ``default``; 0 in other tables means all projects.
projects = Table(
    "projects",
    metadata,
    Column("no", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created_s", Double, nullable=False),
    Column("weight", Double, nullable=False, server_default="1"),  # of its share
    Column("max_running", Integer),  # NULL: no limit
    Column("permits", Text),  # JSON; NULL: everything
    Column("max_waiting", Integer),  # NULL: no limit, here and below
    Column("max_per_day", Integer),
    Column("max_record_bytes", BigInteger),
    Column("max_run_s", Double),
)

#: How many runs a project has submitted on a day. Rows of earlier days are deleted with the next submission.
project_days = Table(
    "project_days",
    metadata,
    Column("project", Integer, nullable=False),  # projects
    Column("day", Integer, nullable=False),  # since 1970, UTC
    Column("submitted", Integer, nullable=False),
    PrimaryKeyConstraint("project", "day", name="project_days_pk"),
)

#: Secrets of projects, encrypted.
project_secrets = Table(
    "project_secrets",
    metadata,
    Column("project", Integer, nullable=False),  # projects
    Column("name", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("key", String(16), nullable=False),  # names the key that it is encrypted with
    Column("changed_s", Double, nullable=False),
    Column("actor", Text, nullable=False),
    PrimaryKeyConstraint("project", "name", name="project_secrets_pk"),
)

users = Table(
    "users",
    metadata,
    Column("no", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created_s", Double, nullable=False),
    Column("disabled_s", Double),  # NULL: active
)

#: The users of each group. A group without users does not exist.
group_members = Table(
    "group_members",
    metadata,
    Column("name", Text, nullable=False),
    Column("user", Integer, nullable=False),  # users
    PrimaryKeyConstraint("name", "user", name="group_members_pk"),
)

memberships = Table(
    "memberships",
    metadata,
    Column("project", Integer, nullable=False),  # projects; 0: all
    Column("member", Text, nullable=False),  # name of a user, or @ and the name of a group
    Column("role", SmallInteger, nullable=False),
    PrimaryKeyConstraint("project", "member", name="memberships_pk"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("prefix", String(12), primary_key=True),
    Column("digest", LargeBinary, nullable=False),
    Column("user", Integer, nullable=False),  # users
    Column("project", Integer, nullable=False),  # projects; 0: all
    Column("role", SmallInteger, nullable=False),
    Column("about", Text, nullable=False),
    Column("created_s", Double, nullable=False),
    Column("expires_s", Double, nullable=False),
    Column("revoked_s", Double),  # NULL: not revoked
    Column("used_s", Double),  # NULL: never
)

#: Decisions about rights. Rows are only added, and deleted after ``KEPT_S``.
decisions = Table(
    "decisions",
    metadata,
    Column("no", Integer, primary_key=True),
    Column("time_s", Double, nullable=False),
    Column("last_s", Double, nullable=False),
    Column("count", Integer, nullable=False),
    Column("actor", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("allowed", SmallInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Index("decisions_time", "time_s"),
    sqlite_autoincrement=True,
)
