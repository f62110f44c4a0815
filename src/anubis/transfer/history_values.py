"""Reading single values of foreign files: numbers, texts and times, without ever making one up."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

#: The MLflow store writes infinity as the largest float64.
_LARGEST = 1.7976931348623157e308
#: Times after the year 9999, or before 1970, are mistakes in units.
LATEST_S = 253_402_300_800.0


class NotANumberError(ValueError):
    """The value is neither a number nor missing."""


def number(raw: Any) -> float | None:
    """The finite number; None for what is missing: null, NaN, infinite, an empty text.

    Texts are read as numbers, because some tools write them so. Raises NotANumberError.
    """
    if raw is None or raw == "":
        return None
    if (
        isinstance(raw, bool)
        or not isinstance(raw, (int, float, str))
        or (isinstance(raw, str) and "_" in raw)
    ):
        raise NotANumberError
    try:
        value = float(raw)
    except ValueError as error:
        raise NotANumberError from error
    except OverflowError:
        return None
    return value if math.isfinite(value) and abs(value) < _LARGEST else None


def soft_number(raw: Any) -> float | None:
    """The finite number, else None: for what only accompanies a value (spread, repeats)."""
    try:
        return number(raw)
    except NotANumberError:
        return None


def count(raw: Any) -> int:
    """A number of repeats, at least 1."""
    return max(1, int(soft_number(raw) or 1))


def text(raw: Any) -> str:
    """The value as a text that every store and file can hold: no NUL, no lone surrogate; empty for null."""
    if raw is None:
        return ""
    if isinstance(raw, bool):
        return "true" if raw else "false"
    words = raw if isinstance(raw, str) else str(raw)
    if words.isascii():
        return words.replace("\0", "") if "\0" in words else words
    return words.encode("utf-8", "replace").decode().replace("\0", "")


def texts(raw: Any, keys: Iterable[str] | None = None) -> dict[str, str]:
    """The scalars of a mapping (only these keys) as texts; what is absent, null or empty is left out."""
    if not isinstance(raw, Mapping):
        return {}
    chosen = raw if keys is None else [key for key in keys if key in raw]
    found = {text(key): text(raw[key]) for key in chosen if isinstance(raw[key], (str, int, float))}
    return {key: value for key, value in found.items() if key and value}


def seconds(raw: Any, per_second: int = 1) -> float | None:
    """UTC seconds since 1970 from a number, of which ``per_second`` make a second, or from ISO 8601 text.

    A text without a zone is read as UTC. None when it is no time between 1970 and 9999.
    """
    found = _moment(raw) if isinstance(raw, str) else None
    if found is None:
        value = soft_number(raw)
        found = None if value is None else value / per_second
    return found if found is not None and 0 <= found < LATEST_S else None


def _moment(words: str) -> float | None:
    try:
        moment = datetime.fromisoformat(words.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
