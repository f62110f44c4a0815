"""What happened to runs, in order."""

from collections.abc import Sequence
from typing import Protocol

from anubis.model.run import Event


class Events(Protocol):
    """What happened to runs, in order; nothing but the removal of a run deletes its events."""

    def append(self, events: Sequence[Event]) -> None:
        """Store events in one transaction; raises an error if their runs are not stored."""
        ...

    def read(self, run_id: str | None = None, *, after_seq: int = 0, limit: int = 1000) -> Sequence[Event]:
        """Events in order, of one run or of all.

        A reader that has seen every event up to a number has missed nothing up to it, whatever commits later.
        """
        ...
