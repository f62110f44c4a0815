"""Conversion of dataclasses to plain JSON values and back, without a library.

``to_plain`` leaves out every field that has its default, so a field added later does not change the digest of an older
descriptor. ``from_plain`` checks types, but no ranges.
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
        for name, default in _defaults(type(value)):
            item = getattr(value, name)
            if item != default:
                plain[name] = to_plain(item)
        return plain
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[T], plain: Any) -> T:
    """The value of type ``kind`` that ``to_plain`` wrote as ``plain``; null is NaN where a number must be.

    Fields that the type does not have are ignored. Raises ValueError or TypeError for a value of another type.
    """
    return _read(kind, plain)  # type: ignore[no-any-return]


def _read(kind: Any, plain: Any) -> Any:
    if kind is Any:
        return plain
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        arms = typing.get_args(kind)
        if plain is None and types.NoneType in arms:
            return None
        if any(plain in typing.get_args(arm) for arm in arms if typing.get_origin(arm) is typing.Literal):
            return plain
        return _read(next(arm for arm in arms if arm is not types.NoneType), plain)
    if kind is float:
        return math.nan if plain is None else float(_checked(int | float, plain))
    if origin is tuple:
        return tuple(_read(typing.get_args(kind)[0], item) for item in _checked(list, plain))
    if origin is dict:
        value = typing.get_args(kind)[1]
        return {key: _read(value, item) for key, item in _checked(dict, plain).items()}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = _hints(kind)
        given = _checked(dict, plain).items()
        return kind(**{name: _read(hints[name], item) for name, item in given if name in hints})
    if issubclass(kind, Enum):
        return kind(plain)
    return _checked(kind, plain)


def _checked(kind: Any, plain: Any) -> Any:
    """The value, if it has this type. A boolean is not a number."""
    if not isinstance(plain, kind) or (isinstance(plain, bool) and kind is not bool):
        raise TypeError(f"expected {getattr(kind, '__name__', kind)}, found {type(plain).__name__}")
    return plain


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    """Name and default of every field of a dataclass; the default is only compared, never returned."""
    return tuple((spec.name, _default(spec)) for spec in dataclasses.fields(kind))


def _default(spec: dataclasses.Field[Any]) -> Any:
    if spec.default_factory is not dataclasses.MISSING:
        return spec.default_factory()
    return spec.default
