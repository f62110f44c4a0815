"""Threads that a test runs by hand."""

from collections.abc import Callable


class FakeThreads:
    """``StartThread`` that only notes what to run; the test runs it when it wants, in its own thread."""

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
        """Run the threads whose names begin with this; how many there were. Those that they start wait in turn."""
        chosen = [(each, work) for each, work in self.waiting if each.startswith(name)]
        self.waiting = [pair for pair in self.waiting if pair not in chosen]
        for _, work in chosen:
            work()
        return len(chosen)

    def hang(self) -> Callable[[], None]:
        """The work of the oldest thread, which no ``run`` ends any more; call it to let the thread end."""
        _, work = self.waiting.pop(0)
        return work
