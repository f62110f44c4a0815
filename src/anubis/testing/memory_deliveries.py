"""The outbox in memory, the reference for every store of deliveries."""

from collections.abc import Sequence
from dataclasses import replace

from anubis.model.delivery import Delivery, DeliveryStatus
from anubis.model.run import LONGEST_PAUSE_S, Event, longest_lease_s
from anubis.testing.memory_state import Lease, MemoryState


class FakeDeliveries:
    """``Deliveries`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Delivery]:
        with self._shelf.lock:
            ready = [no for no in self._firsts() if self._is_claimable(no, now_s, lease_s)]
            ready.sort(key=lambda no: (self._shelf.deliveries[no].due_s, no))
            for no in ready[:limit]:
                self._shelf.delivery_leases[no] = Lease(owner, now_s + lease_s)
            return [self._shelf.deliveries[no] for no in sorted(ready[:limit])]

    def renew(self, owner: str, numbers: Sequence[int], *, now_s: float, lease_s: float) -> Sequence[int]:
        with self._shelf.lock:
            kept = [no for no in sorted(numbers) if self._holds(owner, no)]
            for no in kept:
                self._shelf.delivery_leases[no].until_s = now_s + lease_s
            return kept

    def release(self, owner: str) -> None:
        with self._shelf.lock:
            for no in [no for no in self._shelf.delivery_leases if self._holds(owner, no)]:
                del self._shelf.delivery_leases[no]

    def owners(self) -> Sequence[str]:
        with self._shelf.lock:
            return sorted({lease.owner for lease in self._shelf.delivery_leases.values()})

    def apply(self, owner: str, after: Delivery, events: Sequence[Event]) -> bool:
        with self._shelf.lock:
            if after.no is None or not self._holds(owner, after.no):
                return False
            del self._shelf.delivery_leases[after.no]
            now = self._shelf.deliveries[after.no]
            if now.state is after.state:
                self._shelf.deliveries[after.no] = replace(after, run_id=now.run_id, created_s=now.created_s)
            else:
                self._shelf.deliveries[after.no] = replace(now, due_s=now.created_s)
            if now.run_id is not None:
                self._shelf.append(events)
            return True

    def next_due_s(self) -> float | None:
        with self._shelf.lock:
            return min(map(self._claimable_s, self._firsts()), default=None)

    def forget(self, *, before_s: float) -> int:
        with self._shelf.lock:
            ended = [
                no
                for no, each in self._shelf.deliveries.items()
                if each.ended_s is not None and each.ended_s < before_s
            ]
            for no in ended:
                del self._shelf.deliveries[no]
            return len(ended)

    def of(self, alert_id: str) -> Sequence[Delivery]:
        return [each for each in self._shelf.deliveries.values() if each.alert_id == alert_id]

    def _holds(self, owner: str, no: int) -> bool:
        lease = self._shelf.delivery_leases.get(no)
        return lease is not None and lease.owner == owner

    def _firsts(self) -> list[int]:
        """The earliest pending delivery of each address."""
        firsts: dict[str, int] = {}
        for no, delivery in self._shelf.deliveries.items():
            if delivery.status is DeliveryStatus.PENDING:
                firsts.setdefault(delivery.to, no)
        return list(firsts.values())

    def _is_claimable(self, no: int, now_s: float, lease_s: float) -> bool:
        due_s, lease = self._shelf.deliveries[no].due_s, self._shelf.delivery_leases.get(no)
        is_free = lease is None or not now_s < lease.until_s <= now_s + longest_lease_s(lease_s)
        return is_free and not now_s < due_s <= now_s + LONGEST_PAUSE_S

    def _claimable_s(self, no: int) -> float:
        lease = self._shelf.delivery_leases.get(no)
        return max(self._shelf.deliveries[no].due_s, lease.until_s if lease else 0.0)
