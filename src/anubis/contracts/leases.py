"""Leases of runs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from anubis.model.run import Run, Step


class Leases(Protocol):
    """Leases of runs: only the owner of a run's lease drives it and writes its steps."""

    def claim(
        self, owner: str, *, now_s: float, lease_s: float, limit: int, without: Collection[str] = ()
    ) -> Sequence[Run]:
        """Lease up to ``limit`` due runs without a lease, highest priority and oldest first.

        Skips runs of the engines ``without``. A due time more than ``LONGEST_PAUSE_S`` ahead, or a lease longer than
        that and than twice ``lease_s``, does not count: it was written before the wall clock was set back.
        """
        ...

    def renew(
        self, owner: str, run_ids: Sequence[str], *, now_s: float, lease_s: float
    ) -> Mapping[str, bool]:
        """Extend the leases that are still held: run id -> whether cancellation was requested. Lost leases are absent."""
        ...

    def release(self, owner: str, run_ids: Sequence[str] | None = None) -> None:
        """Release leases (None: all of this owner)."""
        ...

    def owners(self) -> Sequence[str]:
        """The owners of the current leases, so that a reconciler can release those of a dead one."""
        ...

    def next_ready_s(self, owner: str, *, now_s: float) -> float | None:
        """The first time after ``now_s`` at which a run not leased to ``owner`` is due or its lease expires; None: never."""
        ...

    def drivers(self, *, now_s: float, lease_s: float) -> Sequence[str]:
        """The owners of leases that have not expired: processes that made progress within ``lease_s`` seconds.

        As in ``claim``, a lease that is too long does not count.
        """
        ...

    def cancelled(self, owner: str) -> Sequence[str]:
        """The runs leased to ``owner`` for which cancellation was requested; does not change anything."""
        ...

    def apply(self, owner: str, run: Run, step: Step, *, now_s: float) -> Run:
        """Write the step in one transaction if ``owner`` still has the lease; returns the updated run.

        A final status releases the lease. Raises LeaseLostError if the lease was lost, and ConflictError if another
        writer changed an alert of the step (see ``Alerts.put``); in both cases nothing is written.
        """
        ...
