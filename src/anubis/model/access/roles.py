"""Users, projects and their rights."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anubis.model.errors import BadInputError
from anubis.model.labels import is_label

#: The project of runs that name no other. It always exists.
DEFAULT_PROJECT = "default"
#: Instead of a project: all projects, those of the future included.
EVERY_PROJECT = "*"
#: First character of a member that is a group.
GROUP_MARK = "@"
#: Permissions of projects without, and with, a pattern.
FLAGS = ("privileged", "network", "unsandboxed", "host-files", "secrets")
PATTERNED = ("engine", "image")
#: All permissions: those of the project ``default``, and of projects from before there were any.
EVERYTHING = (*FLAGS, "engine:*", "image:*")
#: The permissions of a new project: benchmarks that are separated from their machine.
OF_NEW_PROJECTS = ("engine:container", "engine:joined", "engine:process", "image:*")


def name_in(project: str, name: str) -> str:
    """The name of an object that is unique in its project, in the installation: ``PROJECT:NAME``, or NAME in ``default``."""
    return name if project == DEFAULT_PROJECT else f"{project}:{name}"


class Permission(StrEnum):
    """What a route demands in the project of the object."""

    READ = "read"
    SUBMIT = "submit"
    MANAGE = "manage"


class Role(StrEnum):
    """What a member of a project may do; each role includes those before it."""

    VIEWER = "viewer"
    SUBMITTER = "submitter"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """Position, from 1."""
        return [*Role].index(self) + 1

    @property
    def permissions(self) -> frozenset[Permission]:
        """All permissions of the role."""
        return frozenset([*Permission][: self.rank])


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person or a program that uses the service."""

    name: str
    #: UTC seconds.
    created_s: float
    #: From then on the user may do nothing; UTC seconds. None: active.
    disabled_s: float | None = None
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """The limits of a project. None: no limit."""

    #: Runs that are in progress at the same time.
    running: int | None = None
    #: Runs that wait for their start.
    waiting: int | None = None
    #: Runs that are submitted on one day, UTC.
    per_day: int | None = None
    #: Bytes of the records of its final runs. Above it nothing is submitted.
    record_bytes: int | None = None
    #: The largest ``limits.run_timeout_s``, which every descriptor then needs; seconds.
    run_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Runs, sweeps and schedules that the same members see, with separate histories."""

    name: str
    #: UTC seconds.
    created_s: float
    #: Its share of the runs that start, in proportion to the weights of the projects with queued runs.
    weight: float = 1.0
    #: What its runs may use; see ``permits``.
    permits: tuple[str, ...] = EVERYTHING
    quota: Quota = field(default_factory=Quota)


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The role of a member in a project."""

    #: Name of a project, or ``*``.
    project: str
    #: Name of a user, or ``@`` and the name of a group.
    member: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token without its secret. It never gives more rights than its user has."""

    #: Identifies the token; not secret.
    prefix: str
    user: str
    #: Name of a project, or ``*``: all projects of the user.
    project: str
    #: Highest role.
    role: Role
    about: str = ""
    #: UTC seconds.
    created_s: float
    expires_s: float
    #: None: not revoked.
    revoked_s: float | None = None
    #: When it was last used, to the minute; UTC seconds. None: never.
    used_s: float | None = None

    def refusal(self, now_s: float) -> str:
        """Why it is not valid; empty if it is."""
        if self.revoked_s is not None:
            return "revoked"
        return "expired" if now_s >= self.expires_s else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision about rights, or several equal ones in one minute."""

    no: int = 0
    #: Times of the first and of the last one, UTC seconds.
    time_s: float
    last_s: float
    count: int = 1
    #: Name of the user; empty: unknown.
    actor: str
    #: Prefix of the token; empty: none.
    token: str = ""
    #: Network address of the client; empty: a command on the machine of the service.
    address: str = ""
    #: The request or the change, for example ``GET /api/v1/runs/{ref}``.
    action: str
    #: What it was about.
    target: str = ""
    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks, with the rights of the request."""

    #: Name of the user.
    name: str
    #: Prefix of the token; empty: no login is needed.
    token: str = ""
    #: Role by project; ``*`` counts for every project.
    roles: Mapping[str, Role] = field(default_factory=dict)

    def may(self, permission: Permission, project: str) -> bool:
        """Whether the principal has a permission in a project, or in all (``*``)."""
        found = [self.roles[name] for name in {project, EVERY_PROJECT} if name in self.roles]
        return any(permission in role.permissions for role in found)

    def projects(self, permission: Permission) -> frozenset[str] | None:
        """The projects in which the principal has a permission; None: all."""
        if self.may(permission, EVERY_PROJECT):
            return None
        return frozenset(name for name, role in self.roles.items() if permission in role.permissions)


#: Who asks where no login is needed, and the operator on the machine.
UNRESTRICTED = Principal(name="", roles={EVERY_PROJECT: Role.ADMIN})


def roles_of(token: Token, held: Mapping[str, Role]) -> dict[str, Role]:
    """The roles that a token gives to a user who has these roles: at most those of both."""
    if token.project != EVERY_PROJECT:
        known = [held[name] for name in (token.project, EVERY_PROJECT) if name in held]
        held = {token.project: max(known, key=lambda role: role.rank)} if known else {}
    return {name: min(role, token.role, key=lambda each: each.rank) for name, role in held.items()}


def checked_name(kind: str, name: str) -> str:
    """The name. Raises BadInputError if it cannot be that of a user, group or project."""
    if not is_label(name):
        raise BadInputError(
            f"{name!r} cannot be the name of a {kind}", remedy="use 1 to 63 letters, digits, -, _ and ."
        )
    return name
