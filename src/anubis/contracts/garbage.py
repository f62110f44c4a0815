"""Files that garbage collection finds, and runs that are kept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from anubis.contracts.runs import Part
from anubis.model.run import Event


@dataclass(frozen=True, slots=True)
class Garbage:
    """A file or folder of the home folder, or objects of the bucket, that garbage collection may delete or compress."""

    #: One of: record, packing, import, environment, upload, script, script copy.
    kind: str
    #: An address in the bucket is a text.
    path: Path | str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A run that no command and no rule removes, neither its record, samples or events."""

    run_id: str
    why: str
    #: Client id of who added it.
    actor: str
    #: UTC seconds.
    created_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """A run that retention deletes, or parts of it."""

    run_id: str
    #: Name of the benchmark.
    name: str
    #: UTC seconds.
    ended_s: float
    #: Parts that are deleted; empty: the run with everything.
    parts: tuple[Part, ...] = ()


class Holds(Protocol):
    """Held runs. ``Runs.remove`` and ``Runs.expire`` skip them, in the transaction that removes."""

    def add(self, holds: Sequence[Hold], events: Sequence[Event]) -> None:
        """Hold runs, all or none, and store the events; a run that is held already gets the new reason.

        Raises NotFoundError if a run is not stored.
        """
        ...

    def remove(self, run_ids: Iterable[str], events: Sequence[Event]) -> Sequence[str]:
        """End holds, and store the events of these runs; the ids of the runs that were held."""
        ...

    def find(self) -> Sequence[Hold]:
        """All holds, the oldest first."""
        ...

    def held(self, run_ids: Iterable[str]) -> Sequence[str]:
        """Those of these runs that are held."""
        ...
