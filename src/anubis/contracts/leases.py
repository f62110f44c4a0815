"""Who drives which run."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from anubis.model.run import Run, Step


class Leases(Protocol):
    """Who drives which run. Everything that a stage decides about a run is written under its lease."""

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Run]:
        """Lease up to ``limit`` due runs that nobody holds, highest priority and oldest first."""
        ...

    def renew(
        self, owner: str, run_ids: Sequence[str], *, now_s: float, lease_s: float
    ) -> Mapping[str, bool]:
        """Extend the leases still held: run id -> cancellation was asked for. A lost lease is absent."""
        ...

    def release(self, owner: str, run_ids: Sequence[str] | None = None) -> None:
        """Give leases back (None: all of this owner)."""
        ...

    def owners(self) -> Sequence[str]:
        """Who holds leases now: lets a reconciler release what a dead neighbour held."""
        ...

    def cancelled(self, owner: str) -> Sequence[str]:
        """Which of the runs that ``owner`` holds are to be cancelled; only reads."""
        ...

    def apply(self, owner: str, run: Run, step: Step, *, now_s: float) -> Run:
        """Write the step in one transaction if ``owner`` still holds the run; the run as it is now.

        A final status drops the lease. Raises LeaseLostError, having written nothing.
        """
        ...
