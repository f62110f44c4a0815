"""Threads that a test runs explicitly."""

from collections.abc import Callable


class FakeThreads:
    """``StartThread`` that only stores the work; the test runs it later, in the thread of the test."""

    def __init__(self) -> None:
        #: (name, work) of every thread that was started and has not run yet, oldest first.
        self.waiting: list[tuple[str, Callable[[], None]]] = []

    def __call__(self, name: str, work: Callable[[], None]) -> None:
        self.waiting.append((name, work))

    @property
    def names(self) -> list[str]:
        """The names of the threads that have not run yet."""
        return [name for name, _ in self.waiting]

    def run(self, name: str = "") -> int:
        """Run the threads whose names start with this; returns their number. Threads that they start are not run."""
        chosen = [(each, work) for each, work in self.waiting if each.startswith(name)]
        self.waiting = [pair for pair in self.waiting if pair not in chosen]
        for _, work in chosen:
            work()
        return len(chosen)

    def hang(self) -> Callable[[], None]:
        """Remove the oldest thread, so that ``run`` does not run it; returns its work, to be called later."""
        _, work = self.waiting.pop(0)
        return work
