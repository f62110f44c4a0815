"""Reading the files of a record where it lies, also while they are being written."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_TAIL_BYTES = 8192


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The complete lines of a JSON lines file."""
    try:
        content = path.read_bytes()
    except OSError:
        return
    for line in content.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            return
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def last_line(path: Path) -> str:
    """The last line with anything in it; empty where there is none."""
    return "".join(last_lines(path, 1))


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _TAIL_BYTES))
            return file.read(_TAIL_BYTES).replace(b"\r", b"\n")
    except OSError:
        return b""


def printable(text: str) -> str:
    """The text without what would move a terminal's cursor or change its state."""
    return "".join(char if char.isprintable() else " " for char in text).strip()


def last_repeat(folder: Path) -> int | None:
    """The number of the execution that began last, negative in warm-ups; None before the first."""
    repeats = [event["repeat"] for event in read_json_lines(folder / "events.jsonl") if "repeat" in event]
    return repeats[-1] if repeats else None


def last_lines(path: Path, most: int) -> list[str]:
    """The last lines with anything in them, made harmless for a terminal."""
    return [line for raw in _tail(path).split(b"\n") if (line := printable(raw.decode(errors="replace")))][
        -most:
    ]
