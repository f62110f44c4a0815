"""Events in memory, the reference for every store of events."""

from collections.abc import Sequence

from anubis.model.run import Event
from anubis.testing.memory_state import MemoryState


class FakeEvents:
    """``Events`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf

    def append(self, events: Sequence[Event]) -> None:
        with self._shelf.lock:
            self._shelf.append(events)

    def read(self, run_id: str | None = None, *, after_seq: int = 0, limit: int = 1000) -> Sequence[Event]:
        with self._shelf.lock:
            return [
                event
                for event in self._shelf.events
                if (event.seq or 0) > after_seq and run_id in {None, event.run_id}
            ][:limit]

    def read_all(self, *, after_seq: int = 0, limit: int = 1000) -> Sequence[Event]:
        with self._shelf.lock:
            both = [*self._shelf.events, *self._shelf.removed_events]
            found = [event for event in both if (event.seq or 0) > after_seq]
            return sorted(found, key=lambda event: event.seq or 0)[:limit]

    def last(self) -> int:
        with self._shelf.lock:
            return self._shelf.last_seq
