"""Time."""

from threading import Event
from typing import Protocol


class Clock(Protocol):
    """Time, so that tests own it."""

    def now_s(self) -> float:
        """UTC, seconds since 1970. It may jump: use it for times that are stored."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since some moment in the past. It never goes back: use it for durations and deadlines."""
        ...

    def wait(self, event: Event, seconds: float) -> None:
        """Return when the event is set, and after that many seconds at the latest."""
        ...
