"""Conversion of single values of imported files: numbers, texts and times. Never invents a value."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

#: MLflow writes infinity as the largest float64.
_LARGEST = 1.7976931348623157e308
#: End of the year 9999; later times, and times before 1970, have the wrong unit.
LATEST_S = 253_402_300_800.0


class NotANumberError(ValueError):
    """The value is neither a number nor missing."""


def number(raw: Any) -> float | None:
    """The finite number; None for a missing value: null, NaN, infinite or an empty text.

    Texts are converted, because some tools write numbers as text. Raises NotANumberError.
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
    """The finite number, else None: for optional fields beside a value (spread, repeats)."""
    try:
        return number(raw)
    except NotANumberError:
        return None


def count(raw: Any) -> int:
    """A number of repeats, at least 1."""
    return max(1, int(soft_number(raw) or 1))


def text(raw: Any) -> str:
    """The value as a text without NUL and lone surrogates, valid for every store; empty for null."""
    if raw is None:
        return ""
    if isinstance(raw, bool):
        return "true" if raw else "false"
    words = raw if isinstance(raw, str) else str(raw)
    if words.isascii():
        return words.replace("\0", "") if "\0" in words else words
    return words.encode("utf-8", "replace").decode().replace("\0", "")


def texts(raw: Any, keys: Iterable[str] | None = None) -> dict[str, str]:
    """The scalars of a mapping (only these keys) as texts; absent, null and empty values are left out."""
    if not isinstance(raw, Mapping):
        return {}
    chosen = raw if keys is None else [key for key in keys if key in raw]
    found = {text(key): text(raw[key]) for key in chosen if isinstance(raw[key], (str, int, float))}
    return {key: value for key, value in found.items() if key and value}


def seconds(raw: Any, per_second: int = 1) -> float | None:
    """UTC seconds since 1970 from ISO 8601 text, or from a number in units of 1 / ``per_second`` seconds.

    A text without a zone is read as UTC. None if it is not a time between 1970 and 9999.
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
