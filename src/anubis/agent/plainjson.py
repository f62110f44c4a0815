"""JSON text without importing json, which costs as much as the interpreter itself."""

from __future__ import annotations

from _json import encode_basestring_ascii as _quoted


def dumps(value: object) -> str:
    """JSON of None, bool, int, float, str, and dicts and lists of them; what is not finite becomes null."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if value - value == 0 else "null"
    if isinstance(value, dict):
        return "{" + ", ".join(_quoted(str(key)) + ": " + dumps(item) for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(dumps, value)) + "]"
    raise TypeError(f"no JSON for {type(value).__name__}")
