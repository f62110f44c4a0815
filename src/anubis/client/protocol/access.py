"""Users, projects, tokens and decisions about rights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from anubis.contracts.service.projects import ProjectSecret
from anubis.model.access.roles import (
    Decision,
    Membership,
    Principal,
    Project,
    Quota,
    Role,
    Token,
    User,
)
from anubis.model.access.sign_ins import SignIn


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A new token, with the text that is shown once."""

    token: Token
    text: str


class Access(Protocol):
    """Who may do what. In a service, most operations need the role admin in all projects."""

    def whoami(self) -> Principal:
        """Who asks, with all roles."""
        ...

    def users(self) -> Sequence[User]:
        """All users, by name."""
        ...

    def user(self, name: str) -> User:
        """One user. Raises NotFoundError."""
        ...

    def create_user(self, name: str) -> User:
        """A new user without rights. Raises ConflictError if the name is taken."""
        ...

    def put_disabled(self, name: str, *, disabled: bool) -> User:
        """Refuse the tokens of a user from now on, or accept them again."""
        ...

    def put_in_group(self, name: str, group: str, *, inside: bool) -> User:
        """Add a user to a group, or remove it."""
        ...

    def projects(self) -> Sequence[Project]:
        """The projects that the caller sees, oldest first."""
        ...

    def create_project(self, name: str) -> Project:
        """A new project. Raises ConflictError if the name is taken."""
        ...

    def put_share(self, project: str, *, weight: float) -> Project:
        """Set the weight of a project."""
        ...

    def project(self, name: str) -> Project:
        """One project. Raises NotFoundError."""
        ...

    def change_permits(
        self, project: str, *, permit: Sequence[str] = (), forbid: Sequence[str] = ()
    ) -> Project:
        """Change what the runs of a project may use. Raises BadInputError with all problems."""
        ...

    def put_quota(self, project: str, quota: Quota) -> Project:
        """Set all limits of a project."""
        ...

    def members(self, project: str) -> Sequence[Membership]:
        """The memberships in a project (``*``: in all projects). Raises NotFoundError."""
        ...

    def grant(self, project: str, member: str, role: Role) -> None:
        """Give a user, or a group as ``@NAME``, a role in a project (``*``: in all projects)."""
        ...

    def end_membership(self, project: str, member: str) -> None:
        """Take the role of a member away."""
        ...

    def secrets(self, project: str) -> Sequence[ProjectSecret]:
        """The secrets of a project without their values, by name. Raises NotFoundError."""
        ...

    def put_secret(self, project: str, name: str, value: str) -> None:
        """Store a secret of a project, in place of one of the same name."""
        ...

    def remove_secret(self, project: str, name: str) -> None:
        """Delete a secret of a project. Raises NotFoundError."""
        ...

    def tokens(self) -> Sequence[Token]:
        """All tokens without their secrets, oldest first."""
        ...

    def token(self, prefix: str) -> Token:
        """One token. Raises NotFoundError."""
        ...

    def create_token(
        self, user: str, *, project: str, role: Role, about: str = "", lasts_s: float
    ) -> NewToken:
        """A new token that is valid for ``lasts_s`` seconds."""
        ...

    def revoke_token(self, prefix: str) -> Token:
        """The token, which is not accepted from now on."""
        ...

    def sign_ins(self) -> Sequence[SignIn]:
        """Browsers in which people have signed in, oldest first; also those that ended lately."""
        ...

    def revoke_sign_in(self, sign_in: str) -> SignIn:
        """The sign-in with an id, which is not accepted from now on."""
        ...

    def decisions(
        self, *, actor: str = "", refused: bool = False, since_s: float = 0.0, limit: int = 100
    ) -> Sequence[Decision]:
        """The newest decisions, newest first: of one user, only refusals, since a time (UTC seconds)."""
        ...
