"""A tree of TOML values as text, one value for each line, with the origin of every line."""

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import date, time
from typing import Any

from anubis.describe.examples import value_text
from anubis.describe.paths import Path, shown

#: The origin of a value, as a comment.
Remark = Callable[[Path], str]


def merged_text(tree: Mapping[str, Any], remark: Remark) -> Iterator[tuple[str, Path]]:
    """The lines of the text, each with the path of its value; empty lines have the empty path."""
    yield from _table(tree, (), remark)


def _table(table: Mapping[str, Any], at: Path, remark: Remark) -> Iterator[tuple[str, Path]]:
    later = []
    for key, value in table.items():
        path = (*at, key)
        if isinstance(value, dict) or _is_tables(value):
            later.append((path, value))
        else:
            yield f"{_name((key,))} = {toml(value)}  # {remark(path)}", path
    for path, value in later:
        name = _name(path)
        if isinstance(value, dict):
            if not value or not all(isinstance(item, dict) or _is_tables(item) for item in value.values()):
                yield "", ()
                yield f"[{name}]", path
            yield from _table(value, path, remark)
            continue
        for index, entry in enumerate(value):
            yield "", ()
            yield f"[[{name}]]", (*path, index)
            for key, item in entry.items():
                place = (*path, index, key)
                yield f"{_name((key,))} = {toml(item)}  # {remark(place)}", place


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)


def _name(path: Path) -> str:
    """A path as TOML, which does not allow every character of JSON."""
    return shown(path).replace("\x7f", "\\u007f")


def toml(value: Any) -> str:
    """Any TOML value as text."""
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_name((key,))} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value_text(value)
