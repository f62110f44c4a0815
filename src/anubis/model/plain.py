"""Conversion of dataclasses to plain JSON values and back, without a library.

``to_plain`` leaves out every field that has its default, so a field added later does not change the digest of an older
descriptor. ``from_plain`` trusts its input: it reads the output of ``to_plain``.
"""

import dataclasses
import math
import types
import typing
from enum import Enum
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """A dataclass (or a container of dataclasses) as dicts, lists and scalars for JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain = {}
        for spec in dataclasses.fields(value):
            item = getattr(value, spec.name)
            if item != _default(spec):
                plain[spec.name] = to_plain(item)
        return plain
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[T], plain: Any) -> T:
    """The value of type ``kind`` that ``to_plain`` wrote as ``plain``; null is NaN where a number must be."""
    return _read(kind, plain)  # type: ignore[no-any-return]


def _read(kind: Any, plain: Any) -> Any:
    if plain is None:
        return math.nan if kind is float else None
    if kind is Any:
        return plain
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _read(next(arm for arm in typing.get_args(kind) if arm is not types.NoneType), plain)
    if origin is tuple:
        return tuple(_read(typing.get_args(kind)[0], item) for item in plain)
    if origin is dict:
        return {key: _read(typing.get_args(kind)[1], item) for key, item in plain.items()}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{name: _read(hints[name], item) for name, item in plain.items() if name in hints})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(plain)
    return float(plain) if kind is float else plain


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _default(spec: dataclasses.Field[Any]) -> Any:
    if spec.default_factory is not dataclasses.MISSING:
        return spec.default_factory()
    return spec.default
