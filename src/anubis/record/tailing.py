"""Reads the end of files that are still being written: last lines, last events."""

from __future__ import annotations

import json

from anubis.record import layout
from anubis.record.files import reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

    from anubis.record.files import Files

_TAIL_BYTES = 8192


def events(files: Files) -> Iterator[dict[str, Any]]:
    """The events of the agent, in order; an incomplete last line is left out."""
    for line in reader(files, layout.EVENTS):
        if not line.endswith(b"\n"):
            return
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def last_repeat(files: Files) -> int | None:
    """The number of the execution that started last, negative in warm-ups; None before the first."""
    repeats = [event["repeat"] for event in events(files) if "repeat" in event]
    return repeats[-1] if repeats else None


def last_line(files: Files, file: str) -> str:
    """The last non-blank line; empty if there is none."""
    return "".join(last_lines(files, file, 1))


def last_lines(files: Files, file: str, most: int) -> list[str]:
    """The last non-blank lines, without control characters."""
    lines = _tail(files, file).split(b"\n")
    return [line for raw in lines if (line := printable(raw.decode(errors="replace")))][-most:]


def _tail(files: Files, file: str) -> bytes:
    state = files.state(file)
    if state is None:
        return b""
    return files.read(file, max(0, state.size_bytes - _TAIL_BYTES), _TAIL_BYTES).replace(b"\r", b"\n")


def printable(text: str) -> str:
    """The text without characters that move a terminal's cursor or change its state."""
    return "".join(char if char.isprintable() else " " for char in text).strip()
