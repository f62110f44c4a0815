"""Statements about users, projects, tokens and decisions. ``compile`` turns them into the SQL of each database."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Executable, Select, and_, delete, insert, literal_column, or_, select, update

from anubis.store.sql.queries import among, given
from anubis.store.sql.tables.access import (
    decisions,
    group_members,
    memberships,
    projects,
    tokens,
    users,
)

_one: Any = literal_column("1")


def statements(upsert: Callable[..., Any]) -> dict[str, Executable]:
    """By name. ``upsert``: the insert of a dialect that knows ON CONFLICT."""
    return _projects(upsert) | _users(upsert) | _members(upsert) | _tokens() | _decisions()


def _projects(upsert: Callable[..., Any]) -> dict[str, Executable]:
    return {
        "first_project": insert(projects).values(
            name=literal_column("'default'"), created_s=literal_column("0")
        ),
        "add_project": upsert(projects)
        .values(name=given("name"), created_s=given("created_s"), permits=given("permits"))
        .on_conflict_do_nothing()
        .returning(projects.c.no),
        "find_projects": select(projects.c.no, projects.c.name).where(among(projects.c.name, "names")),
        "put_share": update(projects)
        .where(projects.c.name == given("name"))
        .values(weight=given("weight"))
        .returning(projects.c.no),
        "projects": select(projects).order_by(projects.c.no),
    }


def _users(upsert: Callable[..., Any]) -> dict[str, Executable]:
    named = users.c.name == given("name")
    return {
        "add_user": upsert(users)
        .values(name=given("name"), created_s=given("created_s"))
        .on_conflict_do_nothing()
        .returning(users.c.no),
        "user": select(users).where(named),
        "users": select(users).order_by(users.c.name),
        "has_users": select(users.c.no).limit(_one),
        "put_disabled": update(users)
        .where(named)
        .values(disabled_s=given("disabled_s"))
        .returning(users.c.no),
        "join_group": upsert(group_members)
        .values(name=given("group"), user=given("user"))
        .on_conflict_do_nothing()
        .returning(group_members.c.user),
        "leave_group": delete(group_members)
        .where(group_members.c.name == given("group"), group_members.c.user == given("user"))
        .returning(group_members.c.user),
        "groups": select(group_members.c.name.label("group_name"), group_members.c.user).order_by(
            group_members.c.name
        ),
    }


def _members(upsert: Callable[..., Any]) -> dict[str, Executable]:
    new = {name: given(name) for name in ("project", "member", "role")}
    granted = upsert(memberships).values(new)
    mine = memberships.c.member == given("name")
    in_groups = memberships.c.member.in_(
        select(literal_column("'@'").concat(group_members.c.name)).where(
            group_members.c.user == given("user")
        )
    )
    return {
        "grant": granted.on_conflict_do_update(
            index_elements=["project", "member"], set_={"role": granted.excluded.role}
        ),
        "end_membership": delete(memberships)
        .where(memberships.c.project == given("project"), memberships.c.member == given("member"))
        .returning(memberships.c.member),
        "memberships": _with_project(memberships).order_by(memberships.c.project, memberships.c.member),
        "roles_of_user": _with_project(memberships).where(or_(mine, in_groups)),
    }


def _with_project(table: Any) -> Select[Any]:
    """The rows with the name of their project; NULL: all projects."""
    columns = [column for column in table.c if column.name not in {"project", "user"}]
    return select(*columns, projects.c.name.label("project_name")).outerjoin_from(
        table, projects, projects.c.no == table.c.project
    )


def _tokens() -> dict[str, Executable]:
    rows = (
        _with_project(tokens)
        .add_columns(users.c.name.label("user_name"), users.c.no.label("user_no"), users.c.disabled_s)
        .join(users, users.c.no == tokens.c.user)
    )
    of_token = tokens.c.prefix == given("prefix")
    return {
        "add_token": insert(tokens).values(
            {
                column.name: given(column.name)
                for column in tokens.c
                if column.name not in {"revoked_s", "used_s"}
            }
        ),
        "token": rows.where(of_token),
        "tokens": rows.order_by(tokens.c.created_s, tokens.c.prefix),
        "revoke_token": update(tokens)
        .where(of_token, tokens.c.revoked_s.is_(None))
        .values(revoked_s=given("now_s")),
        "use_token": update(tokens).where(of_token).values(used_s=given("now_s")),
        # Of active users, who are still administrators of everything.
        "admin_tokens": rows.where(
            tokens.c.project == literal_column("0"),
            tokens.c.role == given("role"),
            tokens.c.revoked_s.is_(None),
            tokens.c.expires_s > given("now_s"),
            users.c.disabled_s.is_(None),
        ),
    }


def _decisions() -> dict[str, Executable]:
    new = {column.name: given(column.name) for column in decisions.c if column.name != "no"}
    return {
        "add_decision": insert(decisions).values(new),
        "newest_decisions": select(decisions)
        .where(
            and_(
                decisions.c.no < given("before_no"),
                decisions.c.last_s >= given("since_s"),
                decisions.c.allowed <= given("most_allowed"),
                or_(given("actor") == literal_column("''"), decisions.c.actor == given("actor")),
            )
        )
        .order_by(decisions.c.no.desc())
        .limit(given("most")),
        "forget_decisions": delete(decisions).where(decisions.c.last_s < given("before_s")),
    }
