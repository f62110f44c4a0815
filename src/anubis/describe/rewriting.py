"""Changing a tree while remembering where everything stood, so that findings point at what the user wrote.

The same edits, applied to the text of the file instead, are what upgrades it (``upgrading.py``).
"""

from dataclasses import dataclass, field
from typing import Any

from anubis.describe.findings import Findings, Remark
from anubis.describe.paths import Path, get, put
from anubis.model.problem import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A key gets another name or place; its value stays."""

    path: Path
    to: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A key gets a value; it may not be there yet."""

    path: Path
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """A key goes, with its value."""

    path: Path


Edit = Move | Put | Remove


@dataclass(slots=True)
class Rewriter:
    """A tree on its way to the model's shape."""

    tree: dict[str, Any]
    findings: Findings
    #: Old files are read leniently: what a new file may not say is a warning there.
    lenient: bool
    #: The edits that bring the file to 1.0, paths as they were when each was made.
    edits: list[Edit] = field(default_factory=list)

    def deviation(
        self, path: Path, message: str, remedy: str, *edits: Edit, severity: Severity | None = None
    ) -> None:
        """Tell of an old spelling and replace it."""
        if severity is None:
            severity = Severity.WARNING if self.lenient else Severity.ERROR
        self.findings.add(path, Remark(message=message, remedy=remedy, severity=severity))
        self.silently(*edits)

    def silently(self, *edits: Edit) -> None:
        """Replace what an old file may leave out or say."""
        for edit in edits:
            self.edits.append(edit)
            self.apply(edit)

    def apply(self, edit: Edit) -> None:
        """Change the tree only: the file may stay as it is."""
        if isinstance(edit, Put):
            put(self.tree, edit.path, edit.value)
            return
        value = self._pop(edit.path)
        if isinstance(edit, Move):
            put(self.tree, edit.to, value)
            self.findings.moved[edit.to] = edit.path

    def _pop(self, path: Path) -> Any:
        return get(self.tree, path[:-1]).pop(path[-1])

    def table(self, *path: str | int) -> dict[str, Any]:
        """The table at a path; an empty one where there is none, or something else."""
        found = get(self.tree, path)
        return found if isinstance(found, dict) else {}

    def items(self, *path: str | int) -> list[Any]:
        """The list at a path; an empty one where there is none, or something else."""
        found = get(self.tree, path)
        return found if isinstance(found, list) else []
