"""Time that a test owns."""

from anubis.testing.builders import NOW_S


class FakeClock:
    """``Clock`` that moves only when told, or when somebody waits."""

    def __init__(self, now_s: float = NOW_S) -> None:
        self._now_s = now_s
        #: Every wait so far, seconds.
        self.waits: list[float] = []

    def now_s(self) -> float:
        return self._now_s

    def wait(self, seconds: float) -> None:
        """Returns at once; by then that much time has passed."""
        self.waits.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now_s += max(0.0, seconds)
