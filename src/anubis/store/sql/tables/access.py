"""The tables of users, projects, tokens and decisions about rights."""

from sqlalchemy import (
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
