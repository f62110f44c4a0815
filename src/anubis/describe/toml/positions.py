"""The positions of keys in a TOML text.

``tomllib`` returns values without positions, so this lexer reads the same text again. It expects valid TOML; at invalid
text it stops and keeps the positions so far, from which syntax errors are explained. Offsets count characters.
"""

import re
import tomllib
from bisect import bisect_right
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from anubis.describe.paths import Path

_SPACE = re.compile(r"[ \t]*+")
_BLANK = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_KEY = re.compile(r"""(?P<bare>[A-Za-z0-9_-]++)|"(?:[^"\\\n]|\\[^\n])*+"|'[^'\n]*+'""")
_SCALAR = re.compile(
    # Not possessive because of a defect of Python before 3.11.5 with lookaheads (gh-106052).
    r'"""(?:\\.|"(?!"")|[^"\\])*"""(?:"{0,2})'
    r"|'''(?:'(?!'')|[^'])*'''(?:'{0,2})"
    r'|"(?!"")(?:[^"\\\n]|\\[^\n])*+"'
    r"|'(?!'')[^'\n]*+'"
    r"|\d{4}-\d\d-\d\d \d\d:[^,\]}\s#]*+"
    r"""|[^,\[\]{}\s#"']++""",
    re.DOTALL,
)


class Mark(NamedTuple):
    """Offsets of one key and its value; for a table, the value is the end of its header."""

    #: First character of the statement that contains the key.
    statement: int
    #: The key itself: the last part of a dotted key; for a list item, the item.
    start: int
    end: int
    value_start: int
    value_end: int
    #: The brace that opens the enclosing table; None outside of braces.
    brace: int | None = None


class _Stop(Exception):  # noqa: N818  not an error: the end of what can be read
    pass


class Scan:
    """The positions in one text, which are found at their first use: a descriptor without findings needs none."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _positions(self) -> "_Positions":
        return _Positions(self.text)

    @property
    def marks(self) -> dict[Path, Mark]:
        """One entry for each table, key and list item."""
        return self._positions.marks

    @property
    def written(self) -> dict[Path, list[tuple[int, int]]]:
        """Start and end offsets of every occurrence of a key, also as a part of other keys."""
        return self._positions.written

    @property
    def duplicate(self) -> tuple[Path, int, int] | None:
        """The first duplicate key: its path and the offsets of both occurrences."""
        return self._positions.duplicate

    @property
    def open_at(self) -> int | None:
        """Offset of the innermost unclosed bracket or quote, if the scan stopped."""
        return self._positions.open_at


class _Positions:
    """What ``Scan`` finds."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.marks: dict[Path, Mark] = {}
        self.written: dict[Path, list[tuple[int, int]]] = {}
        self.duplicate: tuple[Path, int, int] | None = None
        self.open_at: int | None = None
        self._at = 0
        self._defined: set[Path] = set()
        self._brace: int | None = None
        self._lengths: dict[Path, int] = {}
        with suppress(_Stop, RecursionError):
            self._document()

    def _document(self) -> None:
        table: Path = ()
        while True:
            self._skip(_BLANK)
            if self._at >= len(self.text):
                return
            if self.text[self._at] == "[":
                table = self._header()
            else:
                self._key_value(table)
            self._skip(_SPACE)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self._at)
        assert match is not None
        self._at = match.end()

    def _peek(self) -> str:
        return self.text[self._at : self._at + 1]

    def _expect(self, token: str) -> None:
        if not self.text.startswith(token, self._at):
            raise _Stop
        self._at += len(token)

    def _key(self) -> list[tuple[str, int, int]]:
        """The parts of a dotted key with their offsets."""
        parts = []
        while True:
            self._skip(_SPACE)
            match = _KEY.match(self.text, self._at)
            if match is None:
                raise _Stop
            parts.append((_key_text(match), match.start(), match.end()))
            self._at = match.end()
            self._skip(_SPACE)
            if self._peek() != ".":
                return parts
            self._at += 1

    def _resolve(self, table: Path, part: str) -> Path:
        """The path of a key in a table; in a list of tables, the newest entry."""
        path = (*table, part)
        return (*path, self._lengths[path] - 1) if path in self._lengths else path

    def _header(self) -> Path:
        statement = self._at
        listed = self.text.startswith("[[", self._at)
        self._at += 2 if listed else 1
        parts = self._key()
        self._expect("]]" if listed else "]")
        path: Path = ()
        for key, start, end in parts[:-1]:
            path = self._resolve(path, key)
            self._pass(path, Mark(statement, start, end, self._at, self._at))
        key, start, end = parts[-1]
        mark = Mark(statement, start, end, self._at, self._at)
        path = (*path, key)
        if listed:
            self._pass(path, mark)
            self._lengths[path] = self._lengths.get(path, 0) + 1
            path = (*path, self._lengths[path] - 1)
        self._define(path, mark)
        return path

    def _pass(self, path: Path, mark: Mark) -> None:
        """Record a key that is a part of another key and not defined by it."""
        self.marks.setdefault(path, mark)
        self.written.setdefault(path, []).append((mark.start, mark.end))

    def _define(self, path: Path, mark: Mark) -> None:
        if path in self._defined and self.duplicate is None:
            self.duplicate = (path, self.marks[path].start, mark.start)
        self._defined.add(path)
        self.marks[path] = mark
        self.written.setdefault(path, []).append((mark.start, mark.end))

    def _key_value(self, table: Path) -> None:
        statement = self._at
        brace = self._brace
        parts = self._key()
        self._expect("=")
        self._skip(_SPACE)
        path = table
        for key, start, end in parts[:-1]:
            path = (*path, key)
            self._pass(path, Mark(statement, start, end, self._at, self._at, brace))
        key, start, end = parts[-1]
        path = (*path, key)
        # Defined before the value is read, so that an unclosed value still has its key; marked again with its end.
        self._define(path, Mark(statement, start, end, self._at, self._at, brace))
        value_start = self._at
        self._value(path)
        self.marks[path] = Mark(statement, start, end, value_start, self._at, brace)

    def _value(self, path: Path) -> None:
        character = self._peek()
        if character == "[":
            self._array(path)
        elif character == "{":
            self._inline_table(path)
        else:
            match = _SCALAR.match(self.text, self._at)
            if match is None:
                self.open_at = self._at if character in ('"', "'") else None
                raise _Stop
            self._at = match.end()

    def _array(self, path: Path) -> None:
        opened = self._at
        self._at += 1
        index = 0
        while True:
            self._skip(_BLANK)
            if self._peek() == "]":
                self._at += 1
                return
            start = self._at
            if not self._peek():
                self._stop_open(opened)
            self._value((*path, index))
            self.marks[(*path, index)] = Mark(start, start, self._at, start, self._at)
            index += 1
            self._skip(_BLANK)
            if self._peek() == ",":
                self._at += 1
            elif self._peek() != "]":
                self._stop_open(opened)

    def _inline_table(self, path: Path) -> None:
        opened = self._at
        self._at += 1
        outer, self._brace = self._brace, opened
        while True:
            self._skip(_BLANK)
            if self._peek() == "}":
                self._at += 1
                self._brace = outer
                return
            if not self._peek():
                self._stop_open(opened)
            self._key_value(path)
            self._skip(_BLANK)
            if self._peek() == ",":
                self._at += 1
            elif self._peek() != "}":
                self._stop_open(opened)

    def _stop_open(self, opened: int) -> None:
        self.open_at = opened
        raise _Stop


def _key_text(match: re.Match[str]) -> str:
    token = match[0]
    if match["bare"]:
        return token
    if token[0] == "'":
        return token[1:-1]
    try:
        return str(tomllib.loads(f"x = {token}")["x"])
    except ValueError:
        raise _Stop from None


class Lines:
    """Conversion of offsets of a text to 1-based lines and columns."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        return self._starts[min(line, len(self._starts)) - 1] + column - 1
