"""A clock that a test controls."""

from collections.abc import Callable
from threading import Event

from anubis.testing.builders import NOW_S


class FakeClock:
    """``Clock`` whose time changes only when a test advances it or the code under test waits."""

    def __init__(self, now_s: float = NOW_S) -> None:
        self._now_s = now_s
        self._monotonic_s = 1000.0
        #: Durations of all waits so far, seconds.
        self.waits: list[float] = []
        #: Called at the start of each wait, to simulate other threads.
        self.meanwhile: Callable[[], None] | None = None

    def now_s(self) -> float:
        return self._now_s

    def monotonic_s(self) -> float:
        return self._monotonic_s

    def wait(self, event: Event, seconds: float) -> None:
        """Return at once and advance the time by so many seconds unless the event is set."""
        self.waits.append(seconds)
        if self.meanwhile:
            self.meanwhile()
        if not event.is_set():
            self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Advance the wall clock and the monotonic clock."""
        self._now_s += max(0.0, seconds)
        self._monotonic_s += max(0.0, seconds)

    def jump(self, seconds: float) -> None:
        """Change the wall clock; the monotonic clock does not change."""
        self._now_s += seconds
