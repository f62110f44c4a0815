"""Time that a test owns."""

from collections.abc import Callable
from threading import Event

from anubis.testing.builders import NOW_S


class FakeClock:
    """``Clock`` that moves only when a test advances it, or when the code under test waits."""

    def __init__(self, now_s: float = NOW_S) -> None:
        self._now_s = now_s
        self._monotonic_s = 1000.0
        #: Every wait so far, seconds.
        self.waits: list[float] = []
        #: Called at the beginning of each wait: what other threads do meanwhile.
        self.meanwhile: Callable[[], None] | None = None

    def now_s(self) -> float:
        return self._now_s

    def monotonic_s(self) -> float:
        return self._monotonic_s

    def wait(self, event: Event, seconds: float) -> None:
        """Returns at once; by then that much time has passed, or the event is set."""
        self.waits.append(seconds)
        if self.meanwhile:
            self.meanwhile()
        if not event.is_set():
            self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now_s += max(0.0, seconds)
        self._monotonic_s += max(0.0, seconds)

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back; no time passes."""
        self._now_s += seconds
