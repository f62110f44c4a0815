"""Collection of the findings about a descriptor, each with its position in the file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache

from anubis.describe.paths import Path, shown
from anubis.describe.toml.positions import Lines, Scan
from anubis.model.problem import Problem, Severity

#: Maximum number of findings that are reported; the rest is only counted.
MAX_PROBLEMS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One finding about a value, without a position."""

    message: str
    remedy: str = ""
    severity: Severity = Severity.ERROR
    #: The finding says that a key is missing: not reported if a misspelt key is probably meant to be it.
    missing: bool = False


@dataclass(slots=True)
class Findings:
    """All findings about one descriptor. ``scan`` is None if there is no text to point into."""

    scan: Scan | None = None
    #: Values that the reader moved: new path -> path in the file.
    moved: dict[Path, Path] = field(default_factory=dict)
    #: Paths set by ``--set``.
    overridden: set[Path] = field(default_factory=set)
    #: Paths that misspelt keys are probably meant to be.
    meant: set[Path] = field(default_factory=set)
    _found: dict[tuple[Path, Remark], None] = field(default_factory=dict)

    def error(self, path: Path, message: str, remedy: str = "") -> None:
        self.add(path, Remark(message=message, remedy=remedy))

    def warn(self, path: Path, message: str, remedy: str = "") -> None:
        self.add(path, Remark(message=message, remedy=remedy, severity=Severity.WARNING))

    def add(self, path: Path, remark: Remark) -> None:
        self._found[path, remark] = None

    @property
    def remarks(self) -> Sequence[tuple[Path, Remark]]:
        return tuple(self._found)

    @property
    def errors(self) -> int:
        """Number of findings that are errors."""
        return sum(remark.severity is Severity.ERROR for _, remark in self._found)

    def original(self, path: Path) -> Path:
        """The path under which the user wrote what is now at ``path``."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.moved:
                return self.original((*self.moved[path[:length]], *path[length:]))
        return path

    def problems(self) -> tuple[Problem, ...]:
        """All findings in file order; those without a position come first."""
        if not self._found:
            return ()
        lines = Lines(self.scan.text) if self.scan else None
        problems = [
            self._located(path, remark, lines)
            for path, remark in self._found
            if not (remark.missing and path in self.meant)
        ]
        problems.sort(key=lambda problem: (problem.line or 0, problem.column or 0))
        return _limited(problems)

    def _located(self, path: Path, remark: Remark, lines: Lines | None) -> Problem:
        path = self.original(path)
        offset = self._offset(path)
        line, column = lines.place(offset) if lines and offset is not None else (None, None)
        return Problem(
            path=shown(path),
            message=remark.message,
            remedy=remark.remedy,
            line=line,
            column=column,
            severity=remark.severity,
        )

    def _offset(self, path: Path) -> int | None:
        """Offset of the path in the file, else of the nearest table around it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.overridden:
                return None
            if self.scan and (mark := self.scan.marks.get(path[:length])):
                return mark.start
        return None


def _limited(problems: list[Problem]) -> tuple[Problem, ...]:
    if len(problems) <= MAX_PROBLEMS:
        return tuple(problems)
    kept = sorted(problems, key=lambda problem: problem.severity is not Severity.ERROR)[:MAX_PROBLEMS]
    kept.sort(key=lambda problem: (problem.line or 0, problem.column or 0))
    rest = Problem(
        path="",
        message=f"{len(problems) - MAX_PROBLEMS} further problems are not shown",
        remedy="correct these first",
    )
    return (*kept, rest)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most similar to ``word``; None if none is similar."""
    return None if len(word) > 100 else _nearest(word, tuple(known))


@lru_cache(maxsize=256)  # the cells of a matrix repeat a mistake
def _nearest(word: str, known: tuple[str, ...]) -> str | None:
    folded = {name.lower().replace("-", "_"): name for name in known}
    matches = get_close_matches(word.lower().replace("-", "_"), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A remedy that suggests the most similar known word, or lists all of them."""
    known = list(known)
    close = nearest(word, known)
    return f"did you mean `{close}`?" if close else f"use one of: {', '.join(f'`{name}`' for name in known)}"
