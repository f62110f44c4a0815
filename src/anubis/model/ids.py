"""Run ids: time-ordered UUIDs, and their short forms."""

import hashlib
import secrets
import time
import uuid
from collections.abc import Collection

#: Characters of a short id: the time of the run to the millisecond. A shorter prefix would become ambiguous with the next
#: runs of the same minute.
SHORTEST = 13

_last_ms = 0


def new_run_id() -> str:
    """A UUID of version 7 (RFC 9562, section 5.7).

    Ids of one process never share a millisecond (the RFC's section 6.2 lets a generator run ahead of the
    clock), so the first 13 characters name a run and sorting ids sorts runs by submission.
    """
    global _last_ms  # noqa: PLW0603  the generator's only state
    _last_ms = max(_last_ms + 1, time.time_ns() // 1_000_000)
    random = secrets.randbits(74)  # asked for at once: each request is a call of the kernel
    value = (_last_ms << 80) | (0x7 << 76) | ((random >> 62) << 64) | (0b10 << 62) | random & (1 << 62) - 1
    return str(uuid.UUID(int=value))


def derived_run_id(run_id: str, words: str, number: int) -> str:
    """The id of the ``number``-th run (from 0) that another run causes for the reason ``words``.

    The id is deterministic, so that ordering the run twice stores it once. Its time is shortly after the causing run.
    """
    after_ms = (uuid.UUID(run_id).int >> 80) + 1 + number
    digest = int.from_bytes(hashlib.sha256(f"{run_id}/{words}/{number}".encode()).digest()[:10], "big")
    value = (
        (after_ms << 80)
        | (0x7 << 76)
        | ((digest >> 68 & 0xFFF) << 64)
        | (0b10 << 62)
        | digest & (1 << 62) - 1
    )
    return str(uuid.UUID(int=value))


def short_id(run_id: str, others: Collection[str] = ()) -> str:
    """The shortest prefix of a run id, of at least ``SHORTEST`` characters, with which none of the others begins."""
    length, alike = SHORTEST, [other for other in others if other.startswith(run_id[:SHORTEST])]
    while alike:
        length += 1
        alike = [other for other in alike if other.startswith(run_id[:length])]
    return run_id[:length]
