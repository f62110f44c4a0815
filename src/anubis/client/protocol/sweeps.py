"""Sweeps: many runs of one descriptor over the values of its matrix."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from anubis.contracts.sweeps import Sweep
from anubis.model.problem import Problem

if TYPE_CHECKING:
    from anubis.describe.drafting import DescriptorText
    from anubis.suites.sweep_state import SweepState


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepCell:
    """A cell of a sweep."""

    #: Axis -> value.
    values: Mapping[str, Any]
    #: Digest of its descriptor.
    digest: str
    engine: str
    #: The requested machine.
    instance_type: str
    #: Executions in the run, warm-ups included.
    executions: int


class Sweeps(Protocol):
    """Plan, run, follow and repeat sweeps. A reference is the id of a sweep, a prefix of it, one of its runs, or ``@last``."""

    def plan(
        self,
        file: "Path | DescriptorText",
        *,
        overrides: Mapping[str, str] | None = None,
        script: Path | str | None = None,
        stores_script: bool = True,
        max_parallel: int | None = None,
        warned: Callable[[Path, Problem], None] | None = None,
        overlays: Sequence[Path] = (),
    ) -> Sweep:
        """The sweep that a file describes. Raises BadInputError with all problems.

        Only the archive of the script is stored, unless ``stores_script`` is false.
        """
        ...

    def cells(self, sweep: Sweep) -> Sequence[SweepCell]:
        """The cells in the order of their submission."""
        ...

    def start(self, sweep: Sweep) -> Sweep:
        """Store a planned sweep. ``wait``, or a worker, submits its cells."""
        ...

    def wait(self, ref: str, changed: "Callable[[SweepState], None] | None" = None) -> "SweepState":
        """Wait until a sweep no longer runs. ``changed`` is called often, from another thread.

        An embedded client submits its cells and drives due runs from this process meanwhile.
        """
        ...

    def get(self, ref: str) -> Sweep:
        """The sweep of a reference. Raises NotFoundError."""
        ...

    def find(self, *, limit: int = 100) -> Sequence[Sweep]:
        """The newest sweeps, newest first."""
        ...

    def state(self, ref: str) -> "SweepState":
        """What is known about the cells of a sweep."""
        ...

    def pause(self, ref: str, *, why: str = "") -> Sweep:
        """Submit no further cells and cancel those that wait; running cells continue."""
        ...

    def cancel(self, ref: str, *, why: str = "") -> Sweep:
        """Submit no further cells and cancel all that are not final; a sweep that has ended remains as it is."""
        ...

    def resume(self, ref: str) -> Sweep:
        """Run the cells that were not submitted or were cancelled; after a stop also those that failed."""
        ...

    def retry(self, ref: str, causes: Collection[str]) -> tuple[Sweep, int]:
        """Repeat the cells that failed with these causes; their number. Raises BadInputError if there are none."""
        ...
