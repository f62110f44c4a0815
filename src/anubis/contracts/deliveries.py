"""The outbox: pending deliveries of alerts and the results of past ones."""

from collections.abc import Sequence
from typing import Protocol

from anubis.model.delivery import Delivery
from anubis.model.run import Event


class Deliveries(Protocol):
    """An outbox: rows are added by ``Leases.apply`` and ``Alerts.put``, in the transaction that decides on them.

    A later state replaces a pending row of the same alert and address. Every change of a row is guarded by its lease.
    """

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Delivery]:
        """Lease up to ``limit`` due deliveries, at most one for each address: its earliest pending one.

        This keeps the order per address, and an address that does not answer delays no other address. Times that are
        too far ahead do not count: see ``Leases.claim``.
        """
        ...

    def renew(self, owner: str, numbers: Sequence[int], *, now_s: float, lease_s: float) -> Sequence[int]:
        """Extend the leases that are still held; returns their numbers."""
        ...

    def release(self, owner: str) -> None:
        """Release every lease of the owner."""
        ...

    def owners(self) -> Sequence[str]:
        """The owners of the current leases."""
        ...

    def apply(self, owner: str, after: Delivery, events: Sequence[Event]) -> bool:
        """Write the result of an attempt and its events in one transaction, and release the lease.

        Returns False and writes nothing if the lease was lost. If the alert has reached a later state since the claim,
        the row stays pending for that state and is due at once. Events are dropped if the run was removed.
        """
        ...

    def next_due_s(self) -> float | None:
        """The earliest time at which a delivery can be claimed (UTC seconds, possibly past); None: none is pending."""
        ...

    def forget(self, *, before_s: float) -> int:
        """Remove the deliveries that ended before this time (UTC seconds); returns their number."""
        ...

    def of(self, alert_id: str) -> Sequence[Delivery]:
        """All deliveries of one alert (full id), in order."""
        ...
