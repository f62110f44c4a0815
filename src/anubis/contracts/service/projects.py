"""The rules of projects, which decide what their runs may use."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from anubis.model.access.roles import DEFAULT_PROJECT, Decision, Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """What the runs of a project may use now."""

    project: Project
    #: Names of the secrets of the project.
    own_secrets: frozenset[str] = frozenset()


class Projects(Protocol):
    """The rules of projects as they are now."""

    def permission(self, name: str) -> Permission:
        """What the runs of a project may use. Raises NotFoundError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSecret:
    """A secret of a project without its value."""

    name: str
    #: When it was set last, UTC seconds.
    changed_s: float
    #: Who set it.
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedValue:
    """An encrypted value."""

    content: bytes = field(repr=False)
    #: Names the key that it is encrypted with.
    key: str


class SealedSecrets(Protocol):
    """Encrypted secrets of projects."""

    def secrets(self, project: str) -> Sequence[ProjectSecret]:
        """The secrets of a project, by name. Raises NotFoundError."""
        ...

    def sealed(self, project: str, name: str) -> SealedValue | None:
        """A secret; None if there is none with this name."""
        ...

    def keys(self) -> Sequence[str]:
        """The names of the keys that secrets are encrypted with."""
        ...

    def put_sealed(self, project: str, name: str, value: SealedValue, *, by: Decision) -> None:
        """Store a secret. Raises NotFoundError, and ConflictError if others are encrypted with another key."""
        ...

    def remove_secret(self, project: str, name: str, *, by: Decision) -> None:
        """Delete a secret. Raises NotFoundError."""
        ...


#: Everything is permitted.
UNLIMITED = Permission(project=Project(name=DEFAULT_PROJECT, created_s=0.0))


@dataclass(frozen=True, slots=True)
class SamePermission:
    """``Projects`` with the same rules for all."""

    given: Permission = field(default=UNLIMITED)

    def permission(self, name: str) -> Permission:  # noqa: ARG002
        """See ``Projects``."""
        return self.given
