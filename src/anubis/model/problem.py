"""What is wrong with an input, where, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """An error refuses the input; a warning names a spelling that still works."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One finding about a file. All findings of a file are reported together."""

    #: Dotted TOML path, list positions in brackets: ``output.metrics[1].name``; empty for the file as a whole.
    path: str
    #: What was expected and what was found, one sentence.
    message: str
    #: What to do about it, one sentence; empty only where the message says it already.
    remedy: str = ""
    #: 1-based line in the file; None when the finding has no place (a missing section).
    line: int | None = None
    #: 1-based column in the line.
    column: int | None = None
    severity: Severity = Severity.ERROR
    #: The file, where several are read together; empty where the caller knows which one it is.
    file: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:" if self.file else ""
        place += f"{self.line}:{self.column or 1}:" if self.line else ""
        place += " " if place else ""
        path = f"{self.path}: " if self.path else ""
        return f"{place}{path}{self.message}" + (f" ({self.remedy})" if self.remedy else "")
