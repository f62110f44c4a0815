"""Triggers: descriptors that are submitted when a repository or a registry reports a change."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from anubis.contracts.service.triggers import ChangeKind, Trigger, TriggerDelivery, TriggerKind
from anubis.model.problem import Problem

if TYPE_CHECKING:
    from anubis.describe.drafting import DescriptorText


class Triggers(Protocol):
    """Create, list and delete triggers, and see the reports that they got."""

    def create(
        self,
        name: str,
        files: "Sequence[Path | DescriptorText]",
        *,
        kind: TriggerKind,
        secret: str,
        changes: Sequence[ChangeKind],
        patterns: Sequence[str] = ("*",),
        repositories: Sequence[str] = ("*",),
        overrides: Mapping[str, str] | None = None,
        script: Path | str | None = None,
        warned: Callable[[Path, Problem], None] | None = None,
    ) -> Trigger:
        """Store a trigger. ``secret`` is the name of a secret of the installation, with which reports are signed.

        Raises BadInputError with every problem of the descriptors, and ConflictError if the name is taken.
        """
        ...

    def get(self, name: str) -> Trigger:
        """The trigger of this name. Raises NotFoundError."""
        ...

    def find(self) -> Sequence[Trigger]:
        """All triggers, by name."""
        ...

    def deliveries(self, name: str, *, limit: int = 20) -> Sequence[TriggerDelivery]:
        """What happened to the latest reports with a valid signature, newest first."""
        ...

    def remove(self, name: str) -> Trigger:
        """Delete a trigger and its reports; its runs remain. The deleted trigger."""
        ...
