"""What receivers must still be sent, and what came of it."""

from collections.abc import Sequence
from typing import Protocol

from anubis.model.delivery import Delivery
from anubis.model.run import Event


class Deliveries(Protocol):
    """An outbox: rows are added by ``Leases.apply`` and ``Alerts.put``, in the transaction that decides on them.

    A pending row of the same alert and address is replaced by a later state. Everything that changes a row is
    guarded by its lease.
    """

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Delivery]:
        """Lease up to ``limit`` due deliveries, at most one for each address: its earliest pending one.

        So the order of each address is kept, and an address that does not answer delays only itself.
        """
        ...

    def renew(self, owner: str, numbers: Sequence[int], *, now_s: float, lease_s: float) -> Sequence[int]:
        """Extend the leases still held; the numbers of those."""
        ...

    def release(self, owner: str) -> None:
        """Give back every lease of the owner."""
        ...

    def owners(self) -> Sequence[str]:
        """Who holds leases now."""
        ...

    def apply(self, owner: str, after: Delivery, events: Sequence[Event]) -> bool:
        """Write what an attempt came to, with its events, in one transaction, and give the lease back.

        False, with nothing written, if the lease was lost. If the alert has reached a later state since the claim,
        the row stays pending for that state, and is due at once. Events are dropped if the run was removed.
        """
        ...

    def next_due_s(self) -> float | None:
        """When a delivery can be claimed next, UTC seconds, possibly in the past; None: nothing is pending."""
        ...

    def of(self, alert_id: str) -> Sequence[Delivery]:
        """All deliveries of one alert (full id), in order."""
        ...
