"""UTC that never decreases: the time of day at the start of the process plus the monotonic clock."""

from __future__ import annotations

from time import monotonic_ns, time_ns

_UTC_AT_ZERO_NS = time_ns() - monotonic_ns()


def now_s() -> float:
    """UTC, seconds since 1970; never smaller than at the previous call."""
    return utc_ns(monotonic_ns()) / 1e9


def utc_ns(monotonic: int) -> int:
    """UTC of a reading of the monotonic clock, nanoseconds."""
    return _UTC_AT_ZERO_NS + monotonic
