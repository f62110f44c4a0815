"""Time."""

from typing import Protocol


class Clock(Protocol):
    """Time, so that tests own it."""

    def now_s(self) -> float:
        """UTC, seconds since 1970."""
        ...

    def wait(self, seconds: float) -> None:
        """Return after that many seconds, or earlier when there may be something to do."""
        ...
