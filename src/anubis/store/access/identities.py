"""Users, groups, projects, memberships and tokens. Every change adds a row to the decisions in the same transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from anubis.model.access.roles import (
    EVERY_PROJECT,
    GROUP_MARK,
    OF_NEW_PROJECTS,
    Decision,
    Membership,
    Project,
    Role,
    Token,
    User,
    checked_name,
)
from anubis.model.access.tokens import new_token
from anubis.model.errors import BadInputError, ConflictError, NotFoundError
from anubis.store.access.decisions import StoredDecisions, change
from anubis.store.access.members import held_roles, project_name, role_of
from anubis.store.access.projects import project_of
from anubis.store.access.sign_ins import StoredSignIns
from anubis.store.sql.database import Database, Row, Session
from anubis.store.text import json_text

T = TypeVar("T")
#: The number of all projects.
_ALL = 0
#: Least and largest weight of a project.
LEAST_WEIGHT, MOST_WEIGHT = 0.01, 100.0
#: A use of a token is written when the last one was so long ago, seconds.
USED_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class Known:
    """A stored token, with what is needed to decide about it."""

    token: Token
    #: SHA-256 of the secret.
    digest: bytes
    is_active: bool
    #: Role by project that the user has now.
    roles: Mapping[str, Role]


class StoredIdentities:
    """Who may do what in a database. ``by`` of a change has the actor, the time and, later, what was decided."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.decisions = StoredDecisions(database)
        self.sign_ins = StoredSignIns(database)

    def any_users(self) -> bool:
        """Whether there are users, so that a service asks for a login."""
        return bool(self._database.rows("has_users"))

    def users(self) -> list[User]:
        """All users, by name."""
        groups = self._groups()
        return [_user(row, groups) for row in self._database.rows("users")]

    def user(self, name: str) -> User:
        """The user with a name. Raises NotFoundError."""
        rows = self._database.rows("user", name=name)
        if not rows:
            raise _unknown("user", name)
        return _user(rows[0], self._groups())

    def _groups(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for row in self._database.rows("groups"):
            found.setdefault(row.user, []).append(row.group_name)
        return found

    def create_user(self, name: str, *, by: Decision) -> User:
        """A new user without rights. Raises ConflictError if the name is taken."""
        checked_name("user", name)

        def create(session: Session) -> None:
            if not session.rows("add_user", name=name, created_s=by.time_s):
                raise ConflictError(f"there is a user {name!r} already", remedy="choose another name")

        self._change(by, "create user", name, create)
        return self.user(name)

    def put_disabled(self, name: str, *, disabled: bool, by: Decision) -> User:
        """Refuse the tokens of a user from now on, or accept them again. Raises NotFoundError."""

        def put(session: Session) -> None:
            at_s = by.time_s if disabled else None
            if not session.rows("put_disabled", name=name, disabled_s=at_s):
                raise _unknown("user", name)

        self._change(by, "disable user" if disabled else "enable user", name, put)
        return self.user(name)

    def put_in_group(self, name: str, group: str, *, inside: bool, by: Decision) -> User:
        """Add a user to a group, or remove it. Raises NotFoundError."""
        checked_name("group", group)

        def put(session: Session) -> None:
            rows = session.rows("user", name=name)
            if not rows:
                raise _unknown("user", name)
            changed = session.rows("join_group" if inside else "leave_group", group=group, user=rows[0].no)
            if not inside and not changed:
                raise NotFoundError(
                    f"user {name!r} is not in the group {group!r}", remedy=f"anubis user show {name}"
                )

        self._change(by, f"{'join' if inside else 'leave'} group {group}", name, put)
        return self.user(name)

    def projects(self) -> list[Project]:
        """All projects, oldest first."""
        return list(map(project_of, self._database.rows("projects")))

    def create_project(self, name: str, *, by: Decision) -> Project:
        """A new project without permissions beyond the usual ones. Raises ConflictError if the name is taken."""
        checked_name("project", name)
        permits = json_text(OF_NEW_PROJECTS)

        def create(session: Session) -> None:
            if not session.rows("add_project", name=name, created_s=by.time_s, permits=permits):
                raise ConflictError(f"there is a project {name!r} already", remedy="choose another name")

        self._change(by, "create project", name, create)
        return Project(name=name, created_s=by.time_s, permits=OF_NEW_PROJECTS)

    def put_share(self, name: str, *, weight: float, by: Decision) -> Project:
        """The project with another weight. Raises NotFoundError, and BadInputError for another weight than 0.01 to 100."""
        if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
            raise BadInputError(
                f"the weight {weight:g} is not possible", remedy=f"use {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
            )

        def put(session: Session) -> None:
            if not session.rows("put_share", name=name, weight=weight):
                raise _unknown("project", name)

        self._change(by, f"set weight {weight:g}", name, put)
        return next(each for each in self.projects() if each.name == name)

    def memberships(self) -> list[Membership]:
        """All memberships, by project."""
        return [
            Membership(project=project_name(row), member=row.member, role=role_of(row.role))
            for row in self._database.rows("memberships")
        ]

    def grant(self, granted: Membership, *, by: Decision) -> None:
        """Give a member a role in a project, in place of another one. Raises NotFoundError."""

        def grant(session: Session) -> None:
            member = granted.member
            if member.startswith(GROUP_MARK):
                checked_name("group", member.removeprefix(GROUP_MARK))
            elif not session.rows("user", name=member):
                raise _unknown("user", member)
            project = _number(session, granted.project)
            session.write("grant", project=project, member=member, role=granted.role.rank)

        self._change(by, f"grant {granted.role} to {granted.member}", granted.project, grant)

    def end_membership(self, project: str, member: str, *, by: Decision) -> None:
        """Take the role of a member in a project away. Raises NotFoundError."""

        def end(session: Session) -> None:
            if not session.rows("end_membership", project=_number(session, project), member=member):
                raise NotFoundError(
                    f"{member!r} is not a member of {project!r}", remedy=f"anubis project show {project}"
                )

        self._change(by, f"end membership of {member}", project, end)

    def tokens(self) -> list[Token]:
        """All tokens, oldest first."""
        return [_token(row) for row in self._database.rows("tokens")]

    def token(self, prefix: str) -> Token:
        """The token with a prefix. Raises NotFoundError."""
        rows = self._database.rows("token", prefix=prefix)
        if not rows:
            raise _unknown("token", prefix)
        return _token(rows[0])

    def create_token(
        self, user: str, *, project: str, role: Role, about: str, expires_s: float, by: Decision
    ) -> tuple[str, Token]:
        """The text of a new token, which is not stored, and the token. Raises NotFoundError."""
        if expires_s <= by.time_s:
            raise BadInputError("the token would have expired already", remedy="choose a later end")
        text, prefix, digest = new_token()

        def create(session: Session) -> None:
            rows = session.rows("user", name=user)
            if not rows:
                raise _unknown("user", user)
            session.write(
                "add_token",
                prefix=prefix,
                digest=digest,
                user=rows[0].no,
                project=_number(session, project),
                role=role.rank,
                about=about,
                created_s=by.time_s,
                expires_s=expires_s,
            )

        self._change(by, f"create token {prefix} ({role} in {project})", user, create)
        return text, self.token(prefix)

    def revoke_token(self, prefix: str, *, by: Decision) -> Token:
        """The token, which is not accepted from now on. Raises NotFoundError."""

        def revoke(session: Session) -> None:
            if not session.rows("token", prefix=prefix):
                raise _unknown("token", prefix)
            session.write("revoke_token", prefix=prefix, now_s=by.time_s)

        self._change(by, "revoke token", prefix, revoke)
        return self.token(prefix)

    def known(self, prefix: str) -> Known | None:
        """What is stored about a token; None if there is no such token."""
        with self._database.session() as session:
            rows = session.rows("token", prefix=prefix)
            return _known(session, rows[0]) if rows else None

    def note_use(self, token: Token, now_s: float) -> None:
        """Store that a token was used, to the minute."""
        if token.used_s is None or not 0 <= now_s - token.used_s < USED_EVERY_S:
            self._database.write("use_token", prefix=token.prefix, now_s=now_s)

    def has_admin_token(self, now_s: float) -> bool:
        """Whether a valid token lets a user manage everything."""
        with self._database.session() as session:
            rows = session.rows("admin_tokens", role=Role.ADMIN.rank, now_s=now_s)
            return any(_known(session, row).roles.get(EVERY_PROJECT) is Role.ADMIN for row in rows)

    def _change(self, by: Decision, action: str, target: str, work: Callable[[Session], T]) -> T:
        return change(self._database, by, action, target, work)


def _known(session: Session, row: Row) -> Known:
    return Known(_token(row), bytes(row.digest), row.disabled_s is None, held_roles(session, row))


def _number(session: Session, project: str) -> int:
    if project == EVERY_PROJECT:
        return _ALL
    rows = session.rows("find_projects", names=[project])
    if not rows:
        raise _unknown("project", project)
    return int(rows[0].no)


def _unknown(kind: str, name: str) -> NotFoundError:
    return NotFoundError(f"there is no {kind} {name!r}", remedy=f"anubis {kind} list shows them")


def _user(row: Row, groups: Mapping[int, Sequence[str]]) -> User:
    found = tuple(groups.get(row.no, ()))
    return User(name=row.name, created_s=row.created_s, disabled_s=row.disabled_s, groups=found)


def _token(row: Row) -> Token:
    return Token(
        prefix=row.prefix,
        user=row.user_name,
        project=project_name(row),
        role=role_of(row.role),
        about=row.about,
        created_s=row.created_s,
        expires_s=row.expires_s,
        revoked_s=row.revoked_s,
        used_s=row.used_s,
    )
