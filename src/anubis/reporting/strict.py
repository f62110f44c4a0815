"""Strict conversion of untrusted JSON values to dataclasses: every key and type is checked."""

import dataclasses
import sys
import types
import typing
from enum import Enum
from typing import Any, TypeVar

T = TypeVar("T")
#: Largest integer that every JSON implementation represents exactly.
_MAX_INT = 1 << 53
_KIND_NAMES = {str: "a string", int: "an integer", float: "a finite number"}


def strict(kind: type[T], plain: Any, path: str) -> T:
    """Convert ``plain`` to type ``kind``; only fields with a default may be absent.

    Supports dataclasses, tuples, enums, strings, integers, finite floats, and None where the type allows it. Raises
    ValueError, which names the location, starting with ``path``, and never quotes the input.
    """
    return _read(kind, plain, path)  # type: ignore[no-any-return]


def _read(kind: Any, plain: Any, path: str) -> Any:
    origin, arms = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return None if plain is None else _read(arms[0], plain, path)
    if origin is tuple:
        if not isinstance(plain, list) or (arms[-1] is not ... and len(plain) != len(arms)):
            raise ValueError(f"{path} must be a list of the right length")
        return tuple(_read(arms[0], item, f"{path}[{index}]") for index, item in enumerate(plain))
    if dataclasses.is_dataclass(kind):
        return _fields(kind, plain, path)
    if isinstance(kind, type) and issubclass(kind, Enum):
        if plain not in [member.value for member in kind]:
            raise ValueError(f"{path} must be one of {', '.join(str(member.value) for member in kind)}")
        return kind(plain)
    return _scalar(kind, plain, path)


def _fields(kind: Any, plain: Any, path: str) -> Any:
    hints = typing.get_type_hints(kind)
    if not isinstance(plain, dict):
        raise ValueError(f"{path} must be a table")  # noqa: TRY004  the caller catches one type
    if not plain.keys() <= hints.keys():
        raise ValueError(f"{path} has an unknown key")
    for spec in dataclasses.fields(kind):
        if spec.default is dataclasses.MISSING and spec.name not in plain:
            raise ValueError(f"{path}.{spec.name} is missing")
    return kind(**{name: _read(hints[name], item, f"{path}.{name}") for name, item in plain.items()})


def _scalar(kind: type, plain: Any, path: str) -> Any:
    if kind is str and isinstance(plain, str):
        return plain
    if kind is int and isinstance(plain, int) and not isinstance(plain, bool) and abs(plain) < _MAX_INT:
        return plain
    if (
        kind is float
        and isinstance(plain, int | float)
        and not isinstance(plain, bool)
        and abs(plain) <= sys.float_info.max
    ):
        return float(plain)
    raise ValueError(f"{path} must be {_KIND_NAMES[kind]}")
