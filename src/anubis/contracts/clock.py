"""The clock."""

from threading import Event
from typing import Protocol


class Clock(Protocol):
    """The source of time, replaced by a fake clock in tests."""

    def now_s(self) -> float:
        """UTC, seconds since 1970. It may jump: use it for times that are stored."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since an arbitrary time in the past, never decreasing: use it for durations and deadlines."""
        ...

    def wait(self, event: Event, seconds: float) -> None:
        """Return when the event is set, or after so many seconds."""
        ...
