"""Stored sweeps: what a sweep consists of, and whether its cells are still submitted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.cause import Cause
from anubis.model.descriptor import Descriptor


class SweepPhase(StrEnum):
    """Only the cells of a running sweep are submitted."""

    RUNNING = "running"
    #: Interrupted by its user.
    PAUSED = "paused"
    #: By a rule, or because its cells cannot be submitted.
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    #: Every cell that the rules allow is final.
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A descriptor with a matrix whose cells are run as one family.

    It is stored before any of its runs. The id of a run derives from the sweep, the cell and the try, so that submitting
    a cell again stores it once.
    """

    #: Also the family id of its runs.
    id: str
    owner: str
    #: UTC seconds since 1970.
    created_s: float
    #: With its matrix; engine, commit and script are those of the submission.
    descriptor: Descriptor
    #: The unchanged text of the file.
    text: str
    #: Values of ``--set``.
    overrides: dict[str, str] = field(default_factory=dict)
    #: Working folder on the submitting machine.
    folder: str | None = None
    #: Digest of the descriptor of every cell, in the order in which they are submitted.
    cells: tuple[str, ...]
    phase: SweepPhase = SweepPhase.RUNNING
    #: Why the phase was entered.
    reason: str = ""
    #: The limit that ended the running phase; None: another reason.
    cause: Cause | None = None
    #: Number of the current try of the cells that were tried more than once, by the position of the cell.
    tries: dict[str, int] = field(default_factory=dict)
    #: Name of the project of its runs.
    project: str = DEFAULT_PROJECT
    #: Counts the changes; 0: not stored yet.
    version: int = 0


class Sweeps(Protocol):
    """Sweeps, each with the state that its drivers share."""

    def put(self, sweep: Sweep) -> Sweep:
        """Store a new sweep, or the next version of a stored one; the sweep as it is stored.

        Raises ConflictError, and writes nothing, if another writer changed it since it was read.
        """
        ...

    def get(self, sweep_id: str) -> Sweep:
        """The sweep with this id or unique prefix. Raises NotFoundError."""
        ...

    def running(self) -> Mapping[str, int]:
        """Id -> version of every running sweep."""
        ...

    def find(self, *, limit: int = 100) -> Sequence[Sweep]:
        """The newest sweeps, newest first."""
        ...

    def remove(self, sweep_ids: Sequence[str]) -> None:
        """Delete sweeps that are not running; others and unknown ids are skipped. Their runs remain."""
        ...
