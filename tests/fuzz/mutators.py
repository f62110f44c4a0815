"""Mutations of valid inputs that keep their structure: JSON values, TOML text, lines and binary frames."""

import random
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

#: Values that programs forget about.
ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**53 + 1, 2**63, -(2**63), 10**40, 10**400, 0.0, -0.0, 0.5, 1e308, 5e-324,
    float("nan"), float("inf"), float("-inf"), "", "x", "nan", "1e999", "0x10", "1_000", "\0", "\ud800", "\u202e", "a" * 5000,
    "../x", "/etc/passwd", "{}", "%s", "2024-02-30", "9999-12-31T23:59:59Z", "-1", "٣", [], {}, [[]], [None], {"": None},
)  # fmt: skip
_NUMBERS = (
    0,
    1,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    2**63 - 1,
    2**63,
    2**64 - 1,
)
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[A-Za-z_][\w.-]*|-?\d[\d.e+-]*|[\[\]{}=,#]|\n')
_TOML_TOKENS = (
    "[", "]", "[[", "{", "}", "=", ",", "#", "\n", "true", "nan", "inf", "-inf", "1e400", "0x7f", "1979-05-27",
    '""', '"\\u0000"', "'''", '"""', "[matrix]", "[x.y]", "99999999999999999999999", "-1", "0", '"${x}"', '"((((a+)+)+)+)$"',
    "07:32:00", '"../.."', "a.b.c = 1", "\t", "\r\n", "\ufeff", "é", "\u202e",
)  # fmt: skip


def mutated_plain(chance: random.Random, value: Any) -> Any:
    """A JSON value with one to four changes somewhere inside."""
    changed = _copied(value)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        places = list(_places(changed))
        if not places:
            return chance.choice(ODD)
        _change(chance, *chance.choice(places))
    if chance.random() < 0.02:
        return chance.choice(ODD)
    return changed


def _copied(value: Any) -> Any:
    """A copy of a JSON value; much faster than ``copy.deepcopy``."""
    if isinstance(value, dict):
        return {key: _copied(child) for key, child in value.items()}
    return [_copied(child) for child in value] if isinstance(value, list) else value


def _places(value: Any) -> Any:
    """Each container inside with a key or index, at any depth."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            items: Any = inner.items()
        elif isinstance(inner, list):
            items = enumerate(inner[:200])
        else:
            continue
        for key, child in items:
            yield inner, key
            waiting.append(child)


def _change(chance: random.Random, inside: Any, key: Any) -> None:
    value, kind = inside[key], chance.randrange(8)
    if kind == 0:
        del inside[key]
    elif kind == 1 and isinstance(inside, dict):
        inside[str(chance.choice(ODD))[:50]] = inside.pop(key)
    elif kind == 2:
        inside[key] = [value] * chance.choice((0, 1, 2, 100))
    elif kind == 3:
        inside[key] = {"x": value}
    elif kind == 4 and isinstance(value, str) and value:
        inside[key] = mutated_text(chance, value)
    elif kind == 5 and isinstance(value, int | float):
        inside[key] = chance.choice(
            (-value, value + 1, value * 10**9, str(value), float(value) if abs(value) < 1e300 else 0)
        )
    elif kind == 6 and isinstance(inside, list):
        inside.insert(key, _copied(chance.choice(inside)))
    else:
        inside[key] = _copied(chance.choice(ODD))


def mutated_text(chance: random.Random, text: str) -> str:
    """The text without, with twice, or with other characters at one place."""
    start = chance.randrange(len(text) + 1)
    end = min(len(text), start + chance.choice((0, 1, 1, 5, 50)))
    middle = chance.choice(("", text[start:end] * 2, str(chance.choice(ODD)), chr(chance.randrange(0x250))))
    return text[:start] + middle + text[end:]


def mutated_toml(chance: random.Random, text: str, others: Sequence[str]) -> str:
    """TOML with changed tokens, or with lines of other files."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        if chance.random() < 0.25:
            lines = text.split("\n")
            more = chance.choice(others).split("\n")
            at, source = chance.randrange(len(lines)), chance.randrange(len(more))
            lines[at : at + chance.choice((0, 0, 1, 3))] = more[source : source + chance.choice((0, 1, 1, 5))]
            text = "\n".join(lines)
            continue
        tokens = list(_TOKEN.finditer(text))
        if not tokens:
            return text
        token, other = chance.choice(tokens), chance.choice(tokens)
        new = chance.choice(("", other[0], chance.choice(_TOML_TOKENS), mutated_text(chance, token[0])))
        text = text[: token.start()] + new + text[token.end() :]
    return text


def mutated_bytes(chance: random.Random, data: bytes) -> bytes:
    """Bytes with flipped bits, extreme integers, and parts that are missing, repeated or moved."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        chance.choice(_BYTE_CHANGES)(chance, changed)
    return bytes(changed)


def _flip(chance: random.Random, data: bytearray) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _number(chance: random.Random, data: bytearray) -> None:
    layout = chance.choice(("<B", "<H", "<I", "<Q", ">I"))
    packed = struct.pack(layout, chance.choice(_NUMBERS) & (1 << 8 * struct.calcsize(layout)) - 1)
    at = chance.randrange(len(data) + 1)
    data[at : at + len(packed)] = packed


def _cut(chance: random.Random, data: bytearray) -> None:
    at = chance.randrange(len(data) + 1)
    del data[at : at + chance.choice((1, 4, 100, len(data)))]


def _repeat(chance: random.Random, data: bytearray) -> None:
    at = chance.randrange(len(data) + 1)
    part = data[at : at + chance.choice((1, 8, 100))]
    to = chance.randrange(len(data) + 1)
    data[to:to] = part * chance.choice((1, 2, 50))


def _noise(chance: random.Random, data: bytearray) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.randbytes(chance.choice((1, 3, 16)))


_BYTE_CHANGES: tuple[Callable[[random.Random, bytearray], None], ...] = (
    _flip,
    _number,
    _cut,
    _repeat,
    _noise,
)
