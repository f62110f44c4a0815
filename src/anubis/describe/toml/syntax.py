"""Syntax errors of TOML in words that tell what to do."""

import re

from anubis.describe.paths import shown
from anubis.describe.toml.positions import Lines, Scan
from anubis.model.problem import Problem

_PLACE = re.compile(r"\(at (?:line (\d+), column (\d+)|end of document)\)")
_BARE_WORD = re.compile(r"[^\s,\]}#]+")


def explain(text: str, error: ValueError) -> Problem:
    """The one problem of a text that is not TOML."""
    scan, lines = Scan(text), Lines(text)
    place = _PLACE.search(str(error))
    offset = lines.offset(int(place[1]), int(place[2])) if place and place[1] else len(text)
    message, remedy, offset = _reason(text, str(error), scan, lines, offset)
    line, column = lines.place(min(offset, max(len(text) - 1, 0)))
    return Problem(path=_table_at(scan, offset), message=message, remedy=remedy, line=line, column=column)


#: How tomllib's sentence begins -> what is wrong and what to do, where there is nothing to add.
_SIMPLE = {
    "Cannot": (
        "this table or key is defined already, in another way",
        "write everything of one table in one place",
    ),
    "Expected '='": ("a key must be followed by = and a value", "write key = value, or [table]"),
    "Expected ']": (
        "the header of the table is not closed",
        "write [table], or [[table]] for an entry of a list",
    ),
}


def _reason(text: str, error: str, scan: Scan, lines: Lines, offset: int) -> tuple[str, str, int]:
    """What is wrong, what to do, and where it is."""
    if scan.duplicate and error.startswith(("Cannot", "Duplicate")):
        path, first, again = scan.duplicate
        message = f"`{shown(path)}` is written twice, first on line {lines.place(first)[0]}"
        return message, "keep one of the two", again
    if error.startswith("Unescaped"):
        return (
            "a backslash in double quotes begins an escape, and this one is none",
            "write the text in single quotes, where backslashes stand for themselves",
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
    """A quotation mark, bracket or brace that is never closed; None when that is not what is wrong."""
    opened = scan.open_at
    if opened is None and error.startswith("Invalid initial character"):
        brace = text.rfind("{", 0, offset)
        opened = brace if brace >= 0 else None
    if opened is None:
        return None
    if text[opened] in "\"'":
        return "the quotation mark is never closed", _close(text, opened), opened
    if text[opened] == "[":
        return "the list is not closed, or a comma is missing", "check the ] and the commas", opened
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
    """A value that is none, or has something after it."""
    line = lines.place(min(offset, len(text)))[0]
    mark = next((mark for mark in reversed(scan.marks.values()) if lines.place(mark.start)[0] == line), None)
    start = offset if error.startswith("Invalid value") or mark is None else mark.value_start
    word = _BARE_WORD.match(text, start)
    if word is None:
        return "the value is missing", "write one after the =", min(start, len(text))
    if word[0].lower() in ("true", "false"):
        return f"{word[0]} is no value of TOML", f"write {word[0].lower()}", start
    if word[0][0] in "\"'":
        return (
            "there is something after the value",
            "put each key on its own line; a quotation mark inside text needs a \\ before it",
            offset,
        )
    if re.fullmatch(r"[-+0-9._eE]+", word[0]):
        return (
            f"{word[0][:40]!r} is no number",
            "write it without leading zeros, or in quotes if it is text",
            start,
        )
    rest = text[start:].partition("\n")[0].partition("#")[0].strip()
    return "the value is none of TOML's", f'write text in quotes: "{rest[:60]}"', start


def _table_at(scan: Scan, offset: int) -> str:
    """The key that is being written at an offset, as far as one can tell."""
    before = [(mark.start, path) for path, mark in scan.marks.items() if mark.start <= offset]
    return shown(max(before, default=(0, ()))[1])
