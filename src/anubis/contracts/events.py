"""Events of runs."""

from collections.abc import Sequence
from typing import Protocol

from anubis.model.run import Event


class Events(Protocol):
    """The events of runs, in order; they are deleted only when their run is removed."""

    def append(self, events: Sequence[Event]) -> None:
        """Store events in one transaction; raises an error if a run of theirs is not stored."""
        ...

    def read(self, run_id: str | None = None, *, after_seq: int = 0, limit: int = 1000) -> Sequence[Event]:
        """Events in order, of one run or of all.

        Numbers become visible in order: no event with a lower number appears after one with a higher number.
        """
        ...

    def last(self) -> int:
        """The number of the newest event that was ever stored; 0 before the first one."""
        ...
