"""Sinks and held runs in memory, the reference for every store of them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from anubis.contracts.events import PURGED_EVENT, Sink, SinkState
from anubis.contracts.garbage import Hold
from anubis.model.errors import NotFoundError
from anubis.model.run import LONGEST_PAUSE_S, Event, longest_lease_s
from anubis.testing.memory_state import Lease, MemoryState


class FakeSinks:
    """``Sinks`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf
        self._added = 0

    def add(self, sink: Sink) -> None:
        with self._shelf.lock:
            self._added += 1
            self._shelf.sinks[self._added] = replace(sink, no=self._added)

    def get(self, ref: str) -> Sink:
        found = [sink for sink in self.find() if ref and sink.id.startswith(ref.lower())]
        if len(found) != 1:
            raise NotFoundError(f"{len(found)} webhooks begin with {ref}")
        return found[0]

    def find(self) -> Sequence[Sink]:
        with self._shelf.lock:
            return list(map(self._shown, self._shelf.sinks))

    def remove(self, sink_id: str) -> None:
        with self._shelf.lock:
            for no in [no for no, sink in self._shelf.sinks.items() if sink.id == sink_id]:
                del self._shelf.sinks[no]
                self._shelf.sink_leases.pop(no, None)

    def resume(self, sink_id: str, *, now_s: float) -> None:
        with self._shelf.lock:
            for no, sink in self._shelf.sinks.items():
                if sink.id == sink_id:
                    self._shelf.sinks[no] = replace(
                        sink, state=SinkState.ACTIVE, due_s=now_s, attempts=0, error=""
                    )

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Sink]:
        with self._shelf.lock:
            ready = [no for no in self._waiting() if self._is_claimable(no, now_s, lease_s)]
            ready.sort(key=lambda no: (self._shelf.sinks[no].due_s, no))
            for no in ready[:limit]:
                self._shelf.sink_leases[no] = Lease(owner, now_s + lease_s)
            return [self._shown(no) for no in sorted(ready[:limit])]

    def renew(self, owner: str, numbers: Sequence[int], *, now_s: float, lease_s: float) -> Sequence[int]:
        with self._shelf.lock:
            kept = [no for no in sorted(numbers) if self._holds(owner, no)]
            for no in kept:
                self._shelf.sink_leases[no].until_s = now_s + lease_s
            return kept

    def release(self, owner: str) -> None:
        with self._shelf.lock:
            for no in [no for no in self._shelf.sink_leases if self._holds(owner, no)]:
                del self._shelf.sink_leases[no]

    def owners(self) -> Sequence[str]:
        with self._shelf.lock:
            return sorted({lease.owner for lease in self._shelf.sink_leases.values()})

    def apply(self, owner: str, after: Sink) -> bool:
        with self._shelf.lock:
            if after.no is None or not self._holds(owner, after.no):
                return False
            del self._shelf.sink_leases[after.no]
            self._shelf.sinks[after.no] = after
            floor = self._shelf.floor()
            self._shelf.removed_events = [
                event
                for event in self._shelf.removed_events
                if event.kind == PURGED_EVENT or (event.seq or 0) > floor
            ]
            return True

    def next_due_s(self) -> float | None:
        with self._shelf.lock:
            return min(map(self._claimable_s, self._waiting()), default=None)

    def _shown(self, no: int) -> Sink:
        sink = self._shelf.sinks[no]
        return replace(sink, behind=self._shelf.last_seq - sink.cursor)

    def _waiting(self) -> list[int]:
        return [
            no
            for no, sink in self._shelf.sinks.items()
            if sink.state is SinkState.ACTIVE and sink.cursor < self._shelf.last_seq
        ]

    def _holds(self, owner: str, no: int) -> bool:
        lease = self._shelf.sink_leases.get(no)
        return lease is not None and lease.owner == owner

    def _is_claimable(self, no: int, now_s: float, lease_s: float) -> bool:
        due_s, lease = self._shelf.sinks[no].due_s, self._shelf.sink_leases.get(no)
        is_free = lease is None or not now_s < lease.until_s <= now_s + longest_lease_s(lease_s)
        return is_free and not now_s < due_s <= now_s + LONGEST_PAUSE_S

    def _claimable_s(self, no: int) -> float:
        lease = self._shelf.sink_leases.get(no)
        return max(self._shelf.sinks[no].due_s, lease.until_s if lease else 0.0)


class FakeHolds:
    """``Holds`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf

    def add(self, holds: Sequence[Hold], events: Sequence[Event]) -> None:
        with self._shelf.lock:
            for each in holds:
                if each.run_id not in self._shelf.runs:
                    raise NotFoundError(f"no run has the id {each.run_id}")
            for each in holds:
                before = self._shelf.holds.get(each.run_id, each)
                self._shelf.holds[each.run_id] = replace(each, created_s=before.created_s)
            self._shelf.append(events)

    def remove(self, run_ids: Iterable[str], events: Sequence[Event]) -> Sequence[str]:
        with self._shelf.lock:
            held = [run_id for run_id in set(run_ids) if self._shelf.holds.pop(run_id, None)]
            self._shelf.append(event for event in events if event.run_id in held)
            return sorted(held)

    def find(self) -> Sequence[Hold]:
        with self._shelf.lock:
            return sorted(self._shelf.holds.values(), key=lambda hold: hold.created_s)

    def held(self, run_ids: Iterable[str]) -> Sequence[str]:
        with self._shelf.lock:
            return sorted(run_id for run_id in set(run_ids) if run_id in self._shelf.holds)
