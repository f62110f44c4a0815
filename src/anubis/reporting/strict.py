"""Plain JSON values to dataclasses, for input that nobody vouches for: every key and type is checked."""

import dataclasses
import sys
import types
import typing
from enum import Enum
from typing import Any, TypeVar

T = TypeVar("T")
#: JSON numbers are exact up to here everywhere.
_MOST_INT = 1 << 53


def strict(kind: type[T], plain: Any, path: str) -> T:
    """The value of type ``kind`` whose form ``plain`` has exactly; fields with a default may be absent.

    Knows dataclasses, tuples, enums, text, whole and finite numbers, and None where the type allows it.
    ValueError names the place, beginning with ``path``, and never repeats the input.
    """
    return _read(kind, plain, path)  # type: ignore[no-any-return]


def _read(kind: Any, plain: Any, path: str) -> Any:
    origin, arms = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return None if plain is None else _read(arms[0], plain, path)
    if origin is tuple:
        if not isinstance(plain, list) or (arms[-1] is not ... and len(plain) != len(arms)):
            raise ValueError(f"{path} is no list of the right length")
        return tuple(_read(arms[0], item, f"{path}[{place}]") for place, item in enumerate(plain))
    if dataclasses.is_dataclass(kind):
        return _fields(kind, plain, path)
    if isinstance(kind, type) and issubclass(kind, Enum):
        if plain not in [member.value for member in kind]:
            raise ValueError(f"{path} is none of {', '.join(str(member.value) for member in kind)}")
        return kind(plain)
    return _scalar(kind, plain, path)


def _fields(kind: Any, plain: Any, path: str) -> Any:
    hints = typing.get_type_hints(kind)
    if not isinstance(plain, dict) or not plain.keys() <= hints.keys():
        raise ValueError(f"{path} holds what does not belong there")
    for spec in dataclasses.fields(kind):
        if spec.default is dataclasses.MISSING and spec.name not in plain:
            raise ValueError(f"{path} lacks {spec.name}")
    return kind(**{name: _read(hints[name], item, f"{path}.{name}") for name, item in plain.items()})


def _scalar(kind: type, plain: Any, path: str) -> Any:
    if kind is str and isinstance(plain, str):
        return plain
    if kind is int and isinstance(plain, int) and not isinstance(plain, bool) and abs(plain) < _MOST_INT:
        return plain
    if (
        kind is float
        and isinstance(plain, int | float)
        and not isinstance(plain, bool)
        and abs(plain) <= sys.float_info.max
    ):
        return float(plain)
    raise ValueError(f"{path} is no {'finite number' if kind is float else kind.__name__}")
