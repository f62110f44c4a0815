"""The fields of a descriptor, derived from the dataclasses of the model.

A field is named by its pattern: the dotted path with ``[]`` for a position in a list and ``*`` for a free key.
"""

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from anubis.describe.paths import Path
from anubis.model.descriptor import Descriptor

#: The kind of a path that the model does not have.
UNKNOWN = object()
#: Paths whose kind and pattern are kept: the cells of a matrix have the same paths.
_PATHS = 4096


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of one section."""

    pattern: str
    #: Its type, without ``| None``.
    kind: Any
    owner: type
    name: str
    required: bool
    #: Value if the file does not set the field; None for sections and required fields too.
    default: Any


@cache
def members(section: type) -> dict[str, Field]:
    """The fields of one dataclass by name, with patterns relative to it."""
    hints = typing.get_type_hints(section)
    by_name = {}
    for spec in dataclasses.fields(section):
        required = spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING
        default = None
        if spec.default_factory is not dataclasses.MISSING:
            default = spec.default_factory()
        elif not required:
            default = spec.default
        by_name[spec.name] = Field(
            pattern=spec.name,
            kind=_bare(hints[spec.name]),
            owner=section,
            name=spec.name,
            required=required,
            default=default,
        )
    return by_name


def _bare(kind: Any) -> Any:
    """The kind without ``| None``."""
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return next(arm for arm in typing.get_args(kind) if arm is not types.NoneType)
    return kind


def section_of(kind: Any) -> type | None:
    """The dataclass of a kind, which may be a list of it; None for other kinds."""
    if typing.get_origin(kind) is tuple:
        kind = typing.get_args(kind)[0]
    return kind if isinstance(kind, type) and dataclasses.is_dataclass(kind) else None


@cache
def all_fields(section: type = Descriptor, prefix: str = "") -> tuple[Field, ...]:
    """Every field below a section, depth first, in the order of the model."""
    return tuple(_walk(section, prefix))


def _walk(section: type, prefix: str) -> Iterator[Field]:
    for member in members(section).values():
        listed = typing.get_origin(member.kind) is tuple
        found = dataclasses.replace(member, pattern=prefix + member.name)
        yield found
        if (inner := section_of(member.kind)) is not None:
            yield from _walk(inner, f"{found.pattern}{'[]' if listed else ''}.")


@lru_cache(_PATHS)
def kind_at(path: Path) -> Any:
    """The kind of the value at a path; UNKNOWN if the model does not have the path."""
    kind: Any = Descriptor
    for part in path:
        kind = _step(kind, part)
        if kind is UNKNOWN:
            return UNKNOWN
    return kind


def _step(kind: Any, part: str | int) -> Any:
    origin = typing.get_origin(kind)
    if isinstance(part, int):
        if kind is Any:
            return Any
        return typing.get_args(kind)[0] if origin is tuple else UNKNOWN
    if origin is dict:
        return typing.get_args(kind)[1]
    if kind is Any:
        return Any
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and part in members(kind):
        return members(kind)[part].kind
    return UNKNOWN


@lru_cache(_PATHS)
def pattern_of(path: Path) -> str:
    """The pattern that a path matches."""
    text = ""
    kind: Any = Descriptor
    for part in path:
        if isinstance(part, int):
            text += "[]"
        else:
            free = typing.get_origin(kind) is dict
            text += ("." if text else "") + ("*" if free else part)
        kind = Any if kind is UNKNOWN else _step(kind, part)
    return text


@cache
def docs(section: type) -> dict[str, str]:
    """The ``#:`` lines above the fields of one dataclass, by field name."""
    found: dict[str, str] = {}
    lines: list[str] = []
    for line in inspect.getsource(section).splitlines():
        text = line.strip()
        if text.startswith("#:"):
            lines.append(text[2:].strip())
        elif match := re.match(r"(\w+): ", text):
            found.setdefault(match[1], " ".join(lines).replace("``", "`"))
            lines = []
        else:
            lines = []
    return {name: text for name, text in found.items() if name in members(section)}
