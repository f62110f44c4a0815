"""Conversion of the text of an old file to 1.0 with minimal changes.

The edits that the reader made on the values (``rewriting.py``) are applied to the text: the scan has the position of
every key and value, so comments, order and layout are kept.
"""

from dataclasses import dataclass, field, replace

from anubis.describe.defaults import CURRENT
from anubis.describe.examples import value_text
from anubis.describe.paths import Path, shown
from anubis.describe.reading import UpgradableText, examine, read
from anubis.describe.rewriting import Move, Remove
from anubis.describe.toml.positions import Mark
from anubis.model.errors import BadInputError
from anubis.model.problem import Severity


def upgrade(text: str | bytes) -> str:
    """The same file in 1.0 spelling with its comments; a 1.0 file is returned unchanged.

    Raises BadInputError, with all problems, for a file that cannot be read.
    """
    reading, upgradable = examine(text)
    if reading.descriptor is None or upgradable is None:
        errors = [problem for problem in reading.problems if problem.severity is Severity.ERROR]
        raise BadInputError(
            "the descriptor cannot be upgraded because it has errors",
            remedy="correct them first",
            problems=errors,
        )
    if reading.descriptor.spec_version == CURRENT and not upgradable.edits:
        return upgradable.scan.text
    upgraded = _Text(upgradable).edited()
    again = read(upgraded)
    if again.descriptor is None:
        raise BadInputError(
            "the descriptor has errors under version 1.0, which is stricter",
            remedy="correct them first",
            problems=again.problems,
        )
    if again.descriptor != replace(reading.descriptor, spec_version=CURRENT):
        raise BadInputError(
            "the layout of this file cannot be upgraded safely",
            remedy="change the reported spellings by hand",
            problems=reading.problems,
        )
    return upgraded


@dataclass(slots=True)
class _Splice:
    start: int
    end: int
    text: str


@dataclass(slots=True)
class _Text:
    """The text of a file and the splices to apply to it."""

    upgradable: UpgradableText
    _values: dict[Path, str] = field(default_factory=dict)
    _moves: dict[Path, Path] = field(default_factory=dict)
    _removed: set[Path] = field(default_factory=set)
    _added: list[tuple[Path, str]] = field(default_factory=list)
    _splices: list[_Splice] = field(default_factory=list)

    @property
    def _source(self) -> str:
        return self.upgradable.scan.text

    @property
    def _marks(self) -> dict[Path, Mark]:
        return self.upgradable.scan.marks

    def edited(self) -> str:
        if ("spec_version",) in self._marks:
            self._values["spec_version",] = value_text(CURRENT)
        self._collect()
        for origin, target in self._moves.items():
            self._move(origin, target)
        for origin, value in self._values.items():
            if origin not in self._removed:
                mark = self._marks[origin]
                self._splices.append(_Splice(mark.value_start, mark.value_end, value))
        for path in self._removed:
            self._remove(path)
        for path, value in self._added:
            self._add(path, value)
        return self._spliced()

    def _collect(self) -> None:
        """Translate the edits to the paths of the file: existing keys are changed, missing ones are added."""
        original = self.upgradable.findings.original
        for edit in self.upgradable.edits:
            origin = original(edit.path)
            if isinstance(edit, Move):
                self._moves[origin] = edit.to
            elif isinstance(edit, Remove):
                self._removed.add(origin)
            elif origin in self._marks:
                self._values[origin] = value_text(edit.value)
            else:
                self._added.append((edit.path, value_text(edit.value)))

    def _move(self, origin: Path, target: Path) -> None:
        if self.upgradable.findings.original(target[:-1]) == origin[:-1]:
            for start, end in self.upgradable.scan.written[origin]:
                self._splices.append(_Splice(start, end, shown(target[-1:])))
            return
        mark = self._marks[origin]
        value = self._values.get(origin, self._source[mark.value_start : mark.value_end])
        self._removed.add(origin)
        self._added.append((target, value))

    def _remove(self, path: Path) -> None:
        """Remove a key, or a table with its content."""
        for inner, mark in self._marks.items():
            if inner[: len(path)] == path:
                self._splices.append(
                    self._line_removal(mark) if mark.brace is None else self._inline_removal(mark)
                )

    def _line_removal(self, mark: Mark) -> _Splice:
        start = self._source.rfind("\n", 0, mark.statement) + 1
        end = self._line_end(mark.value_end)
        comment = self._source.find("#", mark.value_end, end)
        if comment < 0:
            return _Splice(start, end, "")
        return _Splice(start, end, self._source[start : mark.statement] + self._source[comment:end])

    def _inline_removal(self, mark: Mark) -> _Splice:
        """Remove the key with the comma after it if further keys follow, else with the comma before it."""
        source = self._source
        is_followed = any(
            other.brace == mark.brace and other.statement > mark.statement and not self._is_removed(path)
            for path, other in self._marks.items()
        )
        if is_followed:
            return _Splice(mark.statement, source.index(",", mark.value_end) + 1, "")
        before = source[: mark.statement].rstrip(" \t")
        return _Splice(len(before) - before.endswith(","), mark.value_end, "")

    def _is_removed(self, path: Path) -> bool:
        return any(path[: len(removed)] == removed for removed in self._removed)

    def _add(self, path: Path, value: str) -> None:
        """Add a key after another key of its table, else below the header of the table, else in a new table."""
        table = self.upgradable.findings.original(path[:-1])
        key = shown(path[-1:])
        siblings = [
            mark
            for sibling, mark in self._marks.items()
            if sibling[:-1] == table and sibling not in self._removed and self._source[mark.statement] != "["
        ]
        header = self._marks.get(table)
        if siblings and siblings[0].brace is not None:
            mark = siblings[-1]
            self._splices.append(
                _Splice(mark.value_end, mark.value_end, f", {self._prefix(mark)}{key} = {value}")
            )
        elif siblings:
            self._insert_line(siblings[0], f"{self._prefix(siblings[0])}{key} = {value}")
        elif header is not None and self._source[header.statement] == "[":
            self._insert_line(header, f"{key} = {value}")
        else:
            end = len(self._source)
            self._splices.append(_Splice(end, end, f"\n[{shown(table)}]\n{key} = {value}\n"))

    def _prefix(self, mark: Mark) -> str:
        """The text before the last part of a dotted key."""
        return self._source[mark.statement : mark.start]

    def _insert_line(self, after: Mark, text: str) -> None:
        source = self._source
        indent = source[source.rfind("\n", 0, after.statement) + 1 : after.statement]
        end = self._line_end(after.value_end)
        newline = "\r\n" if "\r\n" in source else "\n"
        missing = "" if source[:end].endswith("\n") else newline
        self._splices.append(_Splice(end, end, f"{missing}{indent}{text}{newline}"))

    def _line_end(self, offset: int) -> int:
        """Offset after the end of the line."""
        end = self._source.find("\n", offset)
        return len(self._source) if end < 0 else end + 1

    def _spliced(self) -> str:
        pieces = []
        at = 0
        for splice in sorted(self._splices, key=lambda splice: (splice.start, splice.end)):
            if splice.end < at:
                continue  # inside a removed part
            pieces += [self._source[at : splice.start], splice.text]
            at = splice.end
        return "".join([*pieces, self._source[at:]])
