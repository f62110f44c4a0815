"""Edits of a tree that keep the original paths, so that findings point at the text of the user.

``upgrading.py`` applies the same edits to the text of the file.
"""

from dataclasses import dataclass, field
from typing import Any

from anubis.describe.findings import Findings, Remark
from anubis.describe.paths import Path, get, put
from anubis.model.problem import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Rename or move a key; its value stays the same."""

    path: Path
    to: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Set the value of a key, which may not exist yet."""

    path: Path
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Remove a key with its value."""

    path: Path


Edit = Move | Put | Remove


@dataclass(slots=True)
class Rewriter:
    """Converts a tree to the shape of the model."""

    tree: dict[str, Any]
    findings: Findings
    #: Old files are read leniently: deviations that are errors in a new file are warnings.
    lenient: bool
    #: The edits that convert the file to 1.0, with the paths at the time of each edit.
    edits: list[Edit] = field(default_factory=list)

    def deviation(
        self, path: Path, message: str, remedy: str, *edits: Edit, severity: Severity | None = None
    ) -> None:
        """Report an old spelling and replace it."""
        if severity is None:
            severity = Severity.WARNING if self.lenient else Severity.ERROR
        self.findings.add(path, Remark(message=message, remedy=remedy, severity=severity))
        self.silently(*edits)

    def silently(self, *edits: Edit) -> None:
        """Apply edits without a finding, for differences that old files may have."""
        for edit in edits:
            self.edits.append(edit)
            self.apply(edit)

    def apply(self, edit: Edit) -> None:
        """Apply an edit to the tree only; the file needs no change."""
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
        """The table at a path; an empty one if there is no table."""
        found = get(self.tree, path)
        return found if isinstance(found, dict) else {}

    def items(self, *path: str | int) -> list[Any]:
        """The list at a path; an empty one if there is no list."""
        found = get(self.tree, path)
        return found if isinstance(found, list) else []
