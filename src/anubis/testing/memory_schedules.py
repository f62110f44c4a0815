"""Schedules in memory, the reference for every store of schedules."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from anubis.contracts.schedules import QUEUE_LOOK_S, Decision, DueState, DueTime, Schedule
from anubis.model.errors import ConflictError, NotFoundError
from anubis.model.run import longest_lease_s
from anubis.testing.memory_runs import FakeRuns
from anubis.testing.memory_state import Lease, MemoryState


class FakeSchedules:
    """``Schedules`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf
        self._runs = FakeRuns(shelf)
        self._stored: dict[str, Schedule] = {}
        self._texts: dict[str, str] = {}
        self._leases: dict[str, Lease] = {}
        #: Schedule -> due time -> what happened to it.
        self._due_times: dict[str, dict[float, DueTime]] = defaultdict(dict)

    def add(self, schedule: Schedule, text: str) -> Schedule:
        with self._shelf.lock:
            if any(each.full_name == schedule.full_name for each in self._stored.values()):
                raise ConflictError(f"there is a schedule {schedule.name} already", remedy="try again")
            self._stored[schedule.id] = replace(schedule, version=1)
            self._texts[schedule.id] = text
            return self._stored[schedule.id]

    def change(self, decision: Decision, *, text: str | None = None) -> Schedule:
        after = decision.after
        with self._shelf.lock:
            stored = self._stored.get(after.id)
            if stored is None or stored.version != after.version:
                raise ConflictError(f"schedule {after.name} was changed meanwhile", remedy="try again")
            self._write(decision)
            if text is not None:
                self._texts[after.id] = text
            return self._stored[after.id]

    def remove(self, schedule_id: str) -> None:
        with self._shelf.lock:
            self._stored.pop(schedule_id, None)
            self._leases.pop(schedule_id, None)
            self._due_times.pop(schedule_id, None)

    def get(self, ref: str) -> Schedule:
        with self._shelf.lock:
            found = [each for each in self._stored.values() if each.full_name == ref]
            found = found or [each for each in self._stored.values() if each.name == ref]
            digits = ref.replace("-", "").lower()
            found = found or [
                each
                for each in self._stored.values()
                if digits and each.id.replace("-", "").startswith(digits)
            ]
        if len(found) == 1:
            return found[0]
        if found:
            raise NotFoundError(f"several schedules are meant by {ref}")
        raise NotFoundError(f'no schedule is named "{ref}"', remedy="anubis schedule ls lists the schedules")

    def find(self) -> Sequence[Schedule]:
        with self._shelf.lock:
            return sorted(self._stored.values(), key=lambda each: each.full_name)

    def text(self, schedule_id: str) -> str:
        if schedule_id not in self._texts:
            raise NotFoundError(f"no schedule has the id {schedule_id}")
        return self._texts[schedule_id]

    def due_times(self, schedule_id: str, *, limit: int) -> Sequence[DueTime]:
        with self._shelf.lock:
            found = list(self._due_times[schedule_id].values())
        return sorted(found, key=lambda due: -due.due_s)[:limit]

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Schedule]:
        with self._shelf.lock:
            ready = [
                (each.ready_s, each)
                for each in self._stored.values()
                if each.ready_s is not None
                and (each.ready_s <= now_s or (each.queued and each.ready_s > now_s + QUEUE_LOOK_S))
                and not self._is_leased(each.id, now_s, lease_s)
            ]
            claimed = [each for _, each in sorted(ready, key=lambda pair: pair[0])[:limit]]
            for each in claimed:
                self._leases[each.id] = Lease(owner, now_s + lease_s)
            return claimed

    def release(self, owner: str) -> None:
        with self._shelf.lock:
            self._leases = {key: lease for key, lease in self._leases.items() if lease.owner != owner}

    def owners(self) -> Sequence[str]:
        with self._shelf.lock:
            return sorted({lease.owner for lease in self._leases.values()})

    def apply(self, owner: str, decisions: Sequence[Decision], *, forget_before_s: float) -> Sequence[str]:
        with self._shelf.lock:
            written = []
            for decision in decisions:
                key = decision.after.id
                stored, lease = self._stored.get(key), self._leases.get(key)
                if stored is None or stored.version != decision.after.version:
                    continue
                if lease is None or lease.owner != owner:
                    continue
                self._write(decision)
                self._forget(key, forget_before_s)
                written.append(key)
            return written

    def next_ready_s(self) -> float | None:
        with self._shelf.lock:
            free = [each.ready_s for each in self._stored.values() if each.id not in self._leases]
        return min((ready_s for ready_s in free if ready_s is not None), default=None)

    def _write(self, decision: Decision) -> None:
        after = decision.after
        self._stored[after.id] = replace(after, version=after.version + 1)
        self._leases.pop(after.id, None)
        is_new = True
        for due in decision.due_times:
            noted = self._due_times[after.id].get(due.due_s)
            if noted is None or noted.state is DueState.QUEUED:
                self._due_times[after.id][due.due_s] = due
            elif due.run_id is not None:
                is_new = False
        ids = {run.id for run, _ in decision.runs}
        if is_new:
            self._runs.add(decision.runs, decision.events)
        else:
            self._runs.add((), [event for event in decision.events if event.run_id not in ids])

    def _forget(self, schedule_id: str, before_s: float) -> None:
        due_times = self._due_times[schedule_id]
        for due in list(due_times.values()):
            if due.due_s < before_s and due.state is not DueState.QUEUED:
                del due_times[due.due_s]

    def _is_leased(self, schedule_id: str, now_s: float, lease_s: float) -> bool:
        lease = self._leases.get(schedule_id)
        return lease is not None and now_s < lease.until_s <= now_s + longest_lease_s(lease_s)
