"""Parses quantities that users type: time spans, sizes, times, shares. Their text is that of ``anubis.reporting.units``."""

import math
import re
from datetime import datetime

from anubis.reporting.units import (
    counted,
    duration,
    exact_moment,
    moment,
    share,
    short_moment,
    size,
    with_unit,
)

__all__ = [
    "SPAN_UNITS",
    "counted",
    "duration",
    "exact_moment",
    "moment",
    "parse_moment",
    "parse_share",
    "parse_size",
    "parse_span",
    "share",
    "short_moment",
    "size",
    "with_unit",
]

#: Units of a span of time, in seconds.
SPAN_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(s|min|m|h|d|w)")


def parse_span(text: str) -> float:
    """Seconds of ``90s``, ``2h``, ``3d`` or ``1h30m``."""
    parts = _SPAN.findall(text)
    if not parts or "".join(map("".join, parts)) != text:
        raise ValueError(f"{text!r} is not a time span: expected for example 90s, 30m, 2h, 3d or 1w")
    return float(sum(float(amount) * SPAN_UNITS[unit] for amount, unit in parts))


def parse_size(text: str) -> int:
    """Bytes of ``500MB``, ``20GiB`` or ``1000``; a prefix without ``i`` is decimal."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(?:([kKMGT])(i?))?B?", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size: expected for example 500MB or 20GiB")
    exponent = " KMGT".index(match[2].upper()) if match[2] else 0
    return int(float(match[1]) * (1024 if match[3] else 1000) ** exponent)


def parse_moment(text: str, *, now_s: float) -> float:
    """UTC seconds of an ISO 8601 date or time (local unless it has a time zone), or of a span before now."""
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError):
        pass
    try:
        return now_s - parse_span(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not a time: expected 2026-01-31, 2026-01-31T12:00, or a span before now (2h, 3d)"
        ) from None


def parse_share(text: str) -> float:
    """The ratio of ``2%`` or ``0.02``."""
    bare = text.removesuffix("%").strip()
    try:
        value = float(bare) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{text!r} is not a share: expected for example 2% or 0.02")
    return value
