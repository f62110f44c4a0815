"""The roles of users, and the decisions about changes, as the other modules of this folder need them."""

from anubis.model.access.roles import EVERY_PROJECT, Decision, Role
from anubis.store.sql.database import Row, Session


def described(by: Decision, action: str, target: str) -> Decision:
    """The decision that a change was allowed."""
    return Decision(
        time_s=by.time_s,
        last_s=by.time_s,
        actor=by.actor,
        token=by.token,
        address=by.address,
        action=action,
        target=target,
        allowed=True,
    )


def held_roles(session: Session, row: Row) -> dict[str, Role]:
    """Role by project of the user in a row with ``user_name`` and ``user_no``."""
    roles: dict[str, Role] = {}
    for each in session.rows("roles_of_user", name=row.user_name, user=row.user_no):
        before = roles.get(project_name(each))
        if before is None or before.rank < each.role:
            roles[project_name(each)] = role_of(each.role)
    return roles


def role_of(rank: int) -> Role:
    """The role with a stored number."""
    return tuple(Role)[rank - 1]


def project_name(row: Row) -> str:
    """The project of a row; NULL is all of them."""
    return EVERY_PROJECT if row.project_name is None else str(row.project_name)
