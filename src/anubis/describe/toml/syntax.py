"""Explanations and remedies for TOML syntax errors."""

import re

from anubis.describe.paths import shown
from anubis.describe.toml.positions import Lines, Scan
from anubis.model.problem import Problem

_PLACE = re.compile(r"\(at (?:line (\d+), column (\d+)|end of document)\)")
_BARE_WORD = re.compile(r"[^\s,\]}#]+")


def explain(text: str, error: ValueError) -> Problem:
    """The problem of a text that is not TOML."""
    scan, lines = Scan(text), Lines(text)
    place = _PLACE.search(str(error))
    offset = lines.offset(int(place[1]), int(place[2])) if place and place[1] else len(text)
    message, remedy, offset = _reason(text, str(error), scan, lines, offset)
    line, column = lines.place(min(offset, max(len(text) - 1, 0)))
    return Problem(path=_table_at(scan, offset), message=message, remedy=remedy, line=line, column=column)


#: Start of a tomllib message -> message and remedy, for errors that need no details.
_SIMPLE = {
    "Cannot": (
        "this table or key is already defined in another way",
        "write everything of one table in one place",
    ),
    "Expected '='": ("a key must be followed by = and a value", "write key = value, or [table]"),
    "Expected ']": (
        "the header of the table is not closed",
        "write [table], or [[table]] for an entry of a list",
    ),
}


def _reason(text: str, error: str, scan: Scan, lines: Lines, offset: int) -> tuple[str, str, int]:
    """Message, remedy and offset of an error."""
    if scan.duplicate and error.startswith(("Cannot", "Duplicate")):
        path, first, again = scan.duplicate
        message = f"`{shown(path)}` is written twice, first on line {lines.place(first)[0]}"
        return message, "keep one of the two", again
    if error.startswith("Unescaped"):
        return (
            "a backslash in double quotes starts an escape sequence, and this one is not valid",
            "write the text in single quotes, where backslashes are literal",
            max(text.rfind("\\", 0, offset), 0),
        )
    if (unclosed := _unclosed(text, error, scan, offset)) is not None:
        return unclosed
    for beginning, (message, remedy) in _SIMPLE.items():
        if error.startswith(beginning):
            return message, remedy, offset
    if error.startswith(("Invalid value", "Expected newline")):
        return _value(text, error, scan, lines, offset)
    message = "this is not TOML: " + _PLACE.sub("", error).strip().lower()
    return message, "see https://toml.io for the grammar of TOML", offset


def _unclosed(text: str, error: str, scan: Scan, offset: int) -> tuple[str, str, int] | None:
    """The explanation of an unclosed quotation mark, bracket or brace; None if that is not the error."""
    opened = scan.open_at
    if opened is None and error.startswith("Invalid initial character"):
        brace = text.rfind("{", 0, offset)
        opened = brace if brace >= 0 else None
    if opened is None:
        return None
    if text[opened] in "\"'":
        return "the quotation mark is never closed", _close(text, opened), opened
    if text[opened] == "[":
        return "the list is not closed, or a comma is missing", "check the brackets and commas", opened
    return (
        "the table in braces is not closed, or a comma is missing",
        "close it with } on the same line, or write it as a [table]",
        opened,
    )


def _close(text: str, opened: int) -> str:
    quote = text[opened]
    if text.startswith(quote * 3, opened):
        return f"close it with {quote * 3}"
    return f"close it on the same line with {quote}, or use {quote * 3} for text of several lines"


def _value(text: str, error: str, scan: Scan, lines: Lines, offset: int) -> tuple[str, str, int]:
    """The explanation of an invalid value, or of text after a value."""
    line = lines.place(min(offset, len(text)))[0]
    mark = next((mark for mark in reversed(scan.marks.values()) if lines.place(mark.start)[0] == line), None)
    start = offset if error.startswith("Invalid value") or mark is None else mark.value_start
    word = _BARE_WORD.match(text, start)
    if word is None:
        return "the value is missing", "write one after the =", min(start, len(text))
    if word[0].lower() in ("true", "false"):
        return f"{word[0]} is not a TOML value", f"write {word[0].lower()}", start
    if word[0][0] in "\"'":
        return (
            "there is text after the value",
            "put each key on its own line; a quotation mark inside text needs a \\ before it",
            offset,
        )
    if re.fullmatch(r"[-+0-9._eE]+", word[0]):
        return (
            f"{word[0][:40]!r} is not a valid number",
            "write it without leading zeros, or in quotes if it is text",
            start,
        )
    rest = text[start:].partition("\n")[0].partition("#")[0].strip()
    return "the value is not valid TOML", f'write text in quotes: "{rest[:60]}"', start


def _table_at(scan: Scan, offset: int) -> str:
    """The key at an offset, as far as it is known."""
    before = [(mark.start, path) for path, mark in scan.marks.items() if mark.start <= offset]
    return shown(max(before, default=(0, ()))[1])
