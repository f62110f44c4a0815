"""Collection of the findings about imported files."""

from dataclasses import dataclass, field
from typing import Any

from anubis.model.problem import Problem, Severity

#: Maximum number of findings that are reported; the rest is only counted.
MAX_PROBLEMS = 500


@dataclass(slots=True)
class Findings:
    """The findings of one import or export. ``file`` is the file that is being read."""

    file: str = ""
    #: Number of values that the tool marks as missing (null, NaN, infinite): left out, not an error.
    missing: int = 0
    #: Number of findings beyond MAX_PROBLEMS.
    unshown: int = 0
    _problems: list[Problem] = field(default_factory=list)
    _errors: int = 0

    def error(self, message: str, remedy: str, *, path: str = "", line: int | None = None) -> None:
        """Report content that could not be read."""
        self._errors += 1
        self._add(message, remedy, path, line, Severity.ERROR)

    def warn(self, message: str, remedy: str, *, path: str = "", line: int | None = None) -> None:
        """Report content that was read with an assumption, or left out."""
        self._add(message, remedy, path, line, Severity.WARNING)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All findings in the order in which they were reported."""
        if not self.unshown:
            return tuple(self._problems)
        rest = Problem(
            path="",
            message=f"{self.unshown} further problems are not shown",
            remedy="correct these first",
            severity=Severity.ERROR if self.refused else Severity.WARNING,
        )
        return (*self._problems, rest)

    @property
    def refused(self) -> bool:
        """Whether any finding is an error."""
        return self._errors > 0

    def _add(self, message: str, remedy: str, path: str, line: int | None, severity: Severity) -> None:
        if len(self._problems) >= MAX_PROBLEMS:
            self.unshown += 1
            return
        self._problems.append(
            Problem(path=path, message=message, remedy=remedy, line=line, severity=severity, file=self.file)
        )


def shown(raw: Any) -> str:
    """The shortened repr of a value, for messages."""
    text = repr(raw)
    return text if len(text) <= 60 else f"{text[:57]}..."
