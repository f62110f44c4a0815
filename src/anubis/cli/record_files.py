"""Reading the files of a record where it lies, also while they are being written."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; empty while the file is not there or not complete."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


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


def last_line(path: Path, *, most: int = 4096) -> str:
    """The last line with anything in it, made harmless for a terminal; empty where there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - most))
            tail = file.read(most)
    except OSError:
        return ""
    lines = [line for line in tail.replace(b"\r", b"\n").split(b"\n") if line.strip()]
    return printable(lines[-1].decode(errors="replace")) if lines else ""


def printable(text: str) -> str:
    """The text without what would move a terminal's cursor or change its state."""
    return "".join(char if char.isprintable() else " " for char in text).strip()
