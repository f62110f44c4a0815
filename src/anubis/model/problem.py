"""A problem of an input: message, location and remedy."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """With an error the input is refused; with a warning it is accepted."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One finding about a file. All findings about a file are reported together."""

    #: Dotted TOML path, list positions in brackets: ``output.metrics[1].name``; empty for the file as a whole.
    path: str
    #: What is wrong, one sentence.
    message: str
    #: What to do, one sentence; empty only if the message says it.
    remedy: str = ""
    #: 1-based line in the file; None if the finding has no position (a missing section).
    line: int | None = None
    #: 1-based column in the line.
    column: int | None = None
    severity: Severity = Severity.ERROR
    #: The file, if several are read together; otherwise empty.
    file: str = ""

    def __str__(self) -> str:
        position = f"{self.file}:" if self.file else ""
        position += f"{self.line}:{self.column or 1}:" if self.line else ""
        position += " " if position else ""
        path = f"{self.path}: " if self.path else ""
        return f"{position}{path}{self.message}" + (f" ({self.remedy})" if self.remedy else "")
