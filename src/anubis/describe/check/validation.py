"""Validation: converts a plain tree to a Descriptor, or reports every mismatch.

pydantic checks types, unknown keys and missing fields of the plain dataclasses in one pass. Its input is JSON, because
only there its strict mode accepts lists for tuples and strings for enums. Dates, which TOML has and JSON does not, are
refused before.
"""

import json
import re
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from anubis.describe import examples
from anubis.describe.check import limits
from anubis.describe.fields import all_fields, kind_at, members, pattern_of, section_of
from anubis.describe.findings import Findings, Remark, did_you_mean, nearest
from anubis.describe.paths import Path, get, shown
from anubis.model.descriptor import Descriptor

#: Maximum number of unknown keys that get a suggestion; a file with more is probably not a descriptor.
_MAX_SUGGESTIONS = 40
#: Words for a further form that a value may have, after its type; pydantic adds the name of the form to such a path.
_OTHER_FORMS: dict[Path, str] = {("measure", "warmups"): ' or "auto"'}


@cache
def _adapter() -> TypeAdapter[tuple[Descriptor]]:
    # A plain dataclass cannot have a configuration; inside a tuple it inherits that of the tuple.
    return TypeAdapter(tuple[Descriptor], config=ConfigDict(strict=True, extra="forbid"))


def descriptor(tree: Mapping[str, Any], findings: Findings) -> Descriptor | None:
    """The descriptor of a tree in the shape of the model; None, with the reasons in ``findings``, if it is not valid."""
    try:
        return _adapter().validate_json(json.dumps([tree]))[0]
    except ValidationError as error:
        unknown = 0
        reported: set[Path] = set()
        for detail in error.errors(include_url=False, include_context=False):
            path: Path = _field_path(detail["loc"][1:])
            if path in reported:  # once for each form that the value may have
                continue
            reported.add(path)
            if detail["type"] == "missing":
                findings.add(path, missing(path))
            elif detail["type"] == "unexpected_keyword_argument":
                _report_unknown(path, findings, suggest=unknown < _MAX_SUGGESTIONS)
                unknown += 1
            else:
                findings.add(path, mismatch(path, get(tree, path)))
        return None


def _field_path(path: Path) -> Path:
    """The path of a value, without the name of the form that pydantic adds where a value may have several."""
    return path[:-1] if path[:-1] in _OTHER_FORMS else path


def missing(path: Path) -> Remark:
    """The finding about a missing required field."""
    key = str(path[-1])
    example = examples.toml(path)
    place = f" to {_section(path[:-1])}" if len(path) > 1 else " at the top of the file"
    remedy = f"add {example}{place}" if example else f"add [{shown(path)}]"
    return Remark(message=f"`{key}` is missing", remedy=remedy, missing=True)


def _report_unknown(path: Path, findings: Findings, *, suggest: bool) -> None:
    key, section = str(path[-1]), section_of(kind_at(path[:-1])) or Descriptor
    remedy = "remove it"
    if suggest:
        known = members(section)
        close, sections = nearest(key, known), _sections_with(key)
        if close is not None:
            findings.meant.add((*path[:-1], close))
        remedy = did_you_mean(key, known) if close or not sections else f"write it in {' or '.join(sections)}"
    place = _section(path[:-1]) if len(path) > 1 else "a descriptor"
    findings.error(path, f"`{key}` is not a key of {place}", remedy)


@cache
def _sections_with(key: str) -> tuple[str, ...]:
    """The sections that have a key of this name."""
    patterns = [found.pattern for found in all_fields() if found.name == key and "." in found.pattern]
    return tuple(_brackets(pattern.rpartition(".")[0]) for pattern in patterns)


def _brackets(pattern: str) -> str:
    return f"[[{pattern[:-2]}]]" if pattern.endswith("[]") else f"[{pattern.replace('[]', '')}]"


def _section(path: Path) -> str:
    """The header of a table."""
    if path and isinstance(path[-1], int):
        return f"[[{shown(path[:-1])}]]"
    return f"[{shown(path)}]"


def mismatch(path: Path, value: Any) -> Remark:
    """The finding about a value of the wrong type."""
    kind = kind_at(path)
    if isinstance(kind, type) and issubclass(kind, Enum) and isinstance(value, str):
        words = [member.value for member in kind]
        return Remark(message=f"{json.dumps(value)} is not a valid value", remedy=did_you_mean(value, words))
    return Remark(
        message=f"expected {expected(kind)}{_OTHER_FORMS.get(path, '')}, found {actual(value)}",
        remedy=_correction(kind, path, value),
    )


def expected(kind: Any) -> str:
    """The description of an expected type."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "one of " + ", ".join(f'"{member.value}"' for member in kind)
    if section_of(kind) is not None or getattr(kind, "__origin__", None) is dict:
        return "a list of tables" if getattr(kind, "__origin__", None) is tuple else "a table"
    if getattr(kind, "__origin__", None) is tuple:
        return "a list"
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
    return words.get(kind, "another kind of value")


def actual(value: Any) -> str:
    """The description of a value, shortened."""
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text if len(text) <= 40 else text[:37] + "..."
    if isinstance(value, str):
        return f"the string {text}"
    return text if isinstance(value, bool) else f"the number {text}"


def _correction(kind: Any, path: Path, value: Any) -> str:
    if (
        kind is str
        and isinstance(value, (int, float))
        and limits.check(path, pattern_of(path), json.dumps(value)) is None
    ):
        return f"write it in quotes: {json.dumps(json.dumps(value))}"
    if (
        kind in (int, float)
        and isinstance(value, str)
        and (seconds := _seconds(value))
        and str(path[-1]).endswith("_s")
    ):
        return f"write the number of seconds: {seconds:g}"
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


def _seconds(text: str) -> float | None:
    """The seconds of a time such as ``60s`` or ``1.5 h``; None for another text."""
    found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(s|m|min|h|d)\s*", text)
    return float(found[1]) * {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}[found[2]] if found else None


def _is_number(text: str, kind: type) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True
