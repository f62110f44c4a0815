"""Lines of output as pages show them: as text, with what tells errors from other lines."""

import re
from dataclasses import dataclass
from typing import Any

from anubis.record.layout import STDERR, STDOUT
from anubis.reporting.markup import visible
from anubis.search.following import OutputLine, Place, ReplicaPlace
from anubis.search.windows import Window
from anubis.web.pages.parts.formats import clock

#: Longer lines are cut; the complete line is in the record.
MOST_CHARACTERS = 4000
#: Colours and other styles of terminals.
_STYLE = re.compile(r"\x1b\[[0-9;:]*m")
_ERROR = re.compile(
    r"\b(?:error|exception|traceback|fatal|panic|segmentation fault|killed|assert(?:ion)?\s*(?:error|failed)|cannot allocate)\b"
    r"|\w+(?:Error|Exception)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLine:
    """A line of a page."""

    #: Name of its place in the page; it stays the same when lines are added.
    anchor: str
    stream: str
    time: str
    text: str
    is_error: bool


def text_of(line: bytes) -> str:
    """The line without styles of terminals; characters that are invisible or control a terminal are escaped."""
    text = line[: 4 * MOST_CHARACTERS].decode(errors="replace").rstrip("\r")
    text = _STYLE.sub("", text.rpartition("\r")[2])
    more = len(line) - len(text.encode(errors="replace"))
    if len(text) > MOST_CHARACTERS or len(line) > 4 * MOST_CHARACTERS:
        text = text[:MOST_CHARACTERS]
        more = len(line) - len(text.encode(errors="replace"))
        return f"{visible(text)} … ({more} more bytes)"
    return visible(text)


def is_error(text: str) -> bool:
    """Whether a line probably reports an error."""
    return _ERROR.search(text[:MOST_CHARACTERS]) is not None


def lines_of(window: Window) -> list[ShownLine]:
    """The lines of a window."""
    shown = []
    for line in window.lines:
        text = text_of(line.line)
        shown.append(
            ShownLine(
                anchor=f"{line.stream}-{line.offset}",
                stream=line.stream,
                time=clock(line.time_ns),
                text=text,
                is_error=is_error(text),
            )
        )
    return shown


def line_to_plain(line: OutputLine) -> dict[str, Any]:
    """A line of a stream, for the script of the page, which adds it as text."""
    text = text_of(line.line)
    return {"stream": line.stream, "time": clock(line.time_ns), "text": text, "error": is_error(text)}


def place_text(attempt: int, role: str, rank: int, place: ReplicaPlace) -> str:
    """The place in one replica as a part of an address."""
    return str(Place(attempt, {(role, rank): place}))


def place_of(text: str, role: str, rank: int) -> ReplicaPlace | None:
    """The place of ``place_text``; None for an empty text. Raises BadInputError."""
    if not text:
        return None
    return Place.of(text).replicas.get((role, rank)) or ReplicaPlace(0, dict.fromkeys((STDOUT, STDERR), 0))
