"""The door: a plain tree becomes a Descriptor, or every mismatch is told in our words.

pydantic checks types, unknown keys and missing fields of the plain dataclasses, all at once. It reads JSON, because
there (and only there) its strict mode takes lists for tuples and words for enums. Dates, the one thing TOML has and
JSON has not, belong nowhere in a descriptor and are refused before.
"""

import json
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from anubis.describe import examples
from anubis.describe.fields import all_fields, kind_at, members, section_of
from anubis.describe.findings import Findings, Remark, did_you_mean, nearest
from anubis.describe.paths import Path, get, shown
from anubis.model.descriptor import Descriptor

#: Beyond so many unknown keys the file is something else, and looking for what was meant only costs time.
_MOST_SUGGESTIONS = 40


@cache
def _adapter() -> TypeAdapter[tuple[Descriptor]]:
    # A plain dataclass takes no configuration of its own; inside a tuple it inherits the tuple's.
    return TypeAdapter(tuple[Descriptor], config=ConfigDict(strict=True, extra="forbid"))


def descriptor(tree: Mapping[str, Any], findings: Findings) -> Descriptor | None:
    """The descriptor a tree in the model's shape holds; None, with the reasons in ``findings``, when it does not."""
    try:
        return _adapter().validate_json(json.dumps([tree]))[0]
    except ValidationError as error:
        unknown = 0
        for detail in error.errors(include_url=False, include_context=False):
            path: Path = detail["loc"][1:]
            if detail["type"] == "missing":
                findings.add(path, missing(path))
            elif detail["type"] == "unexpected_keyword_argument":
                _tell_unknown(path, findings, suggest=unknown < _MOST_SUGGESTIONS)
                unknown += 1
            else:
                findings.add(path, mismatch(path, get(tree, path)))
        return None


def missing(path: Path) -> Remark:
    """What to say about a field that has to be there."""
    key = str(path[-1])
    example = examples.toml(path)
    place = f" to {_section(path[:-1])}" if len(path) > 1 else " at the top of the file"
    remedy = f"add {example}{place}" if example else f"add [{shown(path)}]"
    return Remark(message=f"`{key}` is missing", remedy=remedy, missing=True)


def _tell_unknown(path: Path, findings: Findings, *, suggest: bool) -> None:
    key, section = str(path[-1]), section_of(kind_at(path[:-1])) or Descriptor
    remedy = "remove it"
    if suggest:
        known = members(section)
        close, homes = nearest(key, known), _homes(key)
        if close is not None:
            findings.meant.add((*path[:-1], close))
        remedy = did_you_mean(key, known) if close or not homes else f"write it in {' or '.join(homes)}"
    place = _section(path[:-1]) if len(path) > 1 else "a descriptor"
    findings.error(path, f"`{key}` is not a key of {place}", remedy)


@cache
def _homes(key: str) -> tuple[str, ...]:
    """The sections that do have a key of this name."""
    patterns = [found.pattern for found in all_fields() if found.name == key and "." in found.pattern]
    return tuple(_brackets(pattern.rpartition(".")[0]) for pattern in patterns)


def _brackets(pattern: str) -> str:
    return f"[[{pattern[:-2]}]]" if pattern.endswith("[]") else f"[{pattern.replace('[]', '')}]"


def _section(path: Path) -> str:
    """A table as its header names it."""
    if path and isinstance(path[-1], int):
        return f"[[{shown(path[:-1])}]]"
    return f"[{shown(path)}]"


def mismatch(path: Path, value: Any) -> Remark:
    """What to say about a value of the wrong kind."""
    kind = kind_at(path)
    if isinstance(kind, type) and issubclass(kind, Enum) and isinstance(value, str):
        words = [member.value for member in kind]
        return Remark(message=f"{json.dumps(value)} is none of its values", remedy=did_you_mean(value, words))
    return Remark(
        message=f"expected {wanted(kind)}, found {found(value)}", remedy=_correction(kind, path, value)
    )


def wanted(kind: Any) -> str:
    """A kind in words."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "one of " + ", ".join(f'"{member.value}"' for member in kind)
    if section_of(kind) is not None or getattr(kind, "__origin__", None) is dict:
        return "a list of tables" if getattr(kind, "__origin__", None) is tuple else "a table"
    if getattr(kind, "__origin__", None) is tuple:
        return "a list"
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return words.get(kind, "another kind of value")


def found(value: Any) -> str:
    """A value in words, cut short."""
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text if len(text) <= 40 else text[:37] + "..."
    if isinstance(value, str):
        return f"the text {text}"
    return text if isinstance(value, bool) else f"the number {text}"


def _correction(kind: Any, path: Path, value: Any) -> str:
    if kind is str and isinstance(value, (int, float)):
        return f"write it in quotes: {json.dumps(json.dumps(value))}"
    if kind in (int, float) and isinstance(value, str) and _is_number(value, kind):
        return f"write it without quotes: {value.strip()}"
    if kind is bool and isinstance(value, str) and value.lower() in ("true", "false"):
        return f"write it without quotes: {value.lower()}"
    if kind is int and isinstance(value, float) and value.is_integer():
        return f"write it without a decimal point: {int(value)}"
    if section_of(kind) is not None and getattr(kind, "__origin__", None) is tuple:
        return f"write [[{shown(path)}]] with two brackets, once for each entry"
    example = examples.toml(path)
    return f"for example: {example}" if example else ""


def _is_number(text: str, kind: type) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True
