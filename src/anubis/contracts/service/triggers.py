"""Triggers: descriptors that are submitted when a repository or a registry reports a change."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from anubis.model.access.roles import DEFAULT_PROJECT, name_in


class TriggerKind(StrEnum):
    """Who sends the reports."""

    GITHUB = "github"
    GITLAB = "gitlab"
    #: An OCI registry with notifications, or Docker Hub.
    REGISTRY = "registry"


class ChangeKind(StrEnum):
    """What was changed."""

    PUSH = "push"
    TAG = "tag"
    IMAGE = "image"


class DeliveryState(StrEnum):
    """What happened to a report."""

    STARTED = "started"
    #: It is not one of those that the trigger is for.
    SKIPPED = "skipped"
    #: The runs could not be submitted; a repetition of the report is tried again.
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerDescriptor:
    """A descriptor of a trigger."""

    #: The text, without references to other files.
    text: str
    #: Name of its file, for messages.
    name: str
    #: Working folder of its runs.
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """Which reports submit which descriptors."""

    #: Unique in its project; part of the address of the trigger.
    name: str
    kind: TriggerKind
    #: Name of the secret with which reports are signed.
    secret: str
    changes: tuple[ChangeKind, ...]
    #: Patterns with ``*`` of branches or tags; a change must match one.
    patterns: tuple[str, ...] = ("*",)
    #: Patterns of repositories.
    repositories: tuple[str, ...] = ("*",)
    descriptors: tuple[TriggerDescriptor, ...]
    #: See ``Run.overrides``.
    overrides: dict[str, str] = field(default_factory=dict)
    #: Object key of the script archive.
    script: str | None = None
    #: Client id of who created it, and of its runs.
    owner: str
    #: UTC seconds.
    created_s: float
    #: Name of the project of its runs.
    project: str = DEFAULT_PROJECT

    @property
    def full_name(self) -> str:
        """Its name, unique in the installation; the end of its address."""
        return name_in(self.project, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerDelivery:
    """A report with a valid signature."""

    #: Full name of the trigger.
    trigger: str
    #: Chosen by the sender; a repetition has the same.
    id: str
    #: UTC seconds.
    received_s: float
    state: DeliveryState
    #: What was changed, for people: ``push main 1a2b3c``.
    change: str = ""
    reason: str = ""
    run_ids: tuple[str, ...] = ()


class Triggers(Protocol):
    """Stored triggers and their reports."""

    def add(self, trigger: Trigger) -> None:
        """Store a new trigger. Raises ConflictError if its name is taken in its project."""
        ...

    def get(self, name: str) -> Trigger:
        """The trigger of this full name. Raises NotFoundError."""
        ...

    def find(self) -> Sequence[Trigger]:
        """All triggers, by full name."""
        ...

    def remove(self, name: str) -> None:
        """Delete a trigger and its reports; its runs remain. No error for an unknown name."""
        ...

    def note(self, delivery: TriggerDelivery, *, forget_before_s: float) -> TriggerDelivery:
        """Store a report, or replace one that failed; the report as it is stored. Reports before a time are deleted.

        Raises NotFoundError if the trigger was deleted.
        """
        ...

    def delivery(self, trigger: str, delivery_id: str) -> TriggerDelivery | None:
        """A report; None if it is not stored."""
        ...

    def deliveries(self, trigger: str, *, limit: int) -> Sequence[TriggerDelivery]:
        """The latest reports, newest first."""
        ...
