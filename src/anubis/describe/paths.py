"""Paths inside a descriptor: ``("output", "metrics", 1, "name")``, written ``output.metrics[1].name``."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

Path = tuple[str | int, ...]

#: The lists of data sources and of metrics that a descriptor may have.
SOURCE_LISTS: tuple[Path, ...] = (("data", "sources"), ("server", "models"))
METRIC_LISTS: tuple[Path, ...] = (("output", "metrics"), ("server", "output", "metrics"))

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PART = re.compile(r"""(?P<bare>[A-Za-z0-9_-]+)|"(?P<basic>[^"\\]+)"|'(?P<literal>[^']+)'""")
_INDEX = re.compile(r"\[(\d{1,6})\]")


def shown(path: Path) -> str:
    """The path as text; keys are quoted as in TOML."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            key = part if _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False)
            text += f".{key}" if text else key
    return text


def parsed(text: str) -> Path | None:
    """Parse the text form of a path; None if it is not valid."""
    parts: list[str | int] = []
    at = 0
    while True:
        part = _PART.match(text, at)
        if part is None:
            return None
        parts.append(part["bare"] or part["basic"] or part["literal"])
        at = part.end()
        while index := _INDEX.match(text, at):
            parts.append(int(index[1]))
            at = index.end()
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            return None
        at += 1


def get(tree: Any, path: Path, default: Any = None) -> Any:
    """The value at a path of nested dicts and lists; ``default`` if there is none."""
    for part in path:
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            return default
    return tree


def put(tree: dict[str, Any], path: Path, value: Any) -> bool:
    """Set the value at a path and create missing tables. Returns False if the path cannot exist.

    That is the case if a part of it is neither table nor list, or if a list is too short.
    """
    node: Any = tree
    for part, following in pairwise(path):
        if isinstance(part, str) and isinstance(node, dict):
            node = node.setdefault(part, [] if isinstance(following, int) else {})
        elif isinstance(part, int) and isinstance(node, list) and part < len(node):
            node = node[part]
        else:
            return False
    last = path[-1]
    if isinstance(node, dict):
        fits = isinstance(last, str)
    else:
        fits = isinstance(node, list) and isinstance(last, int) and last < len(node)
    if fits:
        node[last] = value
    return fits


def leaves(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value that is neither a table nor a list, with its path, in order."""
    pending = [(path, tree)]
    while pending:
        path, node = pending.pop()
        if isinstance(node, dict):
            pending.extend([((*path, key), node[key]) for key in reversed(node)])
        elif isinstance(node, list):
            pending.extend([((*path, index), node[index]) for index in reversed(range(len(node)))])
        else:
            yield path, node


def copied(tree: Any) -> Any:
    """A copy of nested dicts and lists, several times faster than ``copy.deepcopy``."""
    if isinstance(tree, dict):
        return {key: copied(value) for key, value in tree.items()}
    return [copied(value) for value in tree] if isinstance(tree, list) else tree


def extent(tree: Any) -> tuple[int, int]:
    """Nesting depth and number of values, computed without recursion because the tree is untrusted."""
    deepest = count = 0
    pending = [(tree, 1)]
    while pending:
        node, level = pending.pop()
        if isinstance(node, (dict, list)):
            deepest = max(deepest, level)
            pending.extend((item, level + 1) for item in (node.values() if isinstance(node, dict) else node))
        count += 1
    return deepest, count
