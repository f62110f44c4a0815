"""Collecting what is wrong with an imported file, all of it, while the rest is read."""

from dataclasses import dataclass, field
from typing import Any

from anubis.model.problem import Problem, Severity

#: More findings than this help nobody; the rest is counted.
MOST_PROBLEMS = 500


@dataclass(slots=True)
class Findings:
    """What was found while histories were read or written. ``file`` is the one being read now."""

    file: str = ""
    #: Values that the tool itself says are missing (null, NaN, infinite): left out, no error.
    missing: int = 0
    #: Findings beyond MOST_PROBLEMS.
    unshown: int = 0
    _problems: list[Problem] = field(default_factory=list)
    _errors: int = 0

    def error(self, message: str, remedy: str, *, path: str = "", line: int | None = None) -> None:
        """Something could not be read; nothing is made up in its place."""
        self._errors += 1
        self._add(message, remedy, path, line, Severity.ERROR)

    def warn(self, message: str, remedy: str, *, path: str = "", line: int | None = None) -> None:
        """Something was read, or left out, in a way that the user may want to know of."""
        self._add(message, remedy, path, line, Severity.WARNING)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All findings in the order in which they were met."""
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
        if len(self._problems) >= MOST_PROBLEMS:
            self.unshown += 1
            return
        self._problems.append(
            Problem(path=path, message=message, remedy=remedy, line=line, severity=severity, file=self.file)
        )


def shown(raw: Any) -> str:
    """A value for a message, shortened."""
    words = repr(raw)
    return words if len(words) <= 60 else f"{words[:57]}..."
