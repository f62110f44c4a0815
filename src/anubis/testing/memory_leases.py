"""Leases in memory, the reference for every store of leases."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from anubis.model.errors import LeaseLostError
from anubis.model.run import LONGEST_PAUSE_S, Run, Step, longest_lease_s, stepped
from anubis.model.status import Phase, Status
from anubis.testing.memory_state import Lease, MemoryState


class FakeLeases:
    """``Leases`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf

    def claim(
        self, owner: str, *, now_s: float, lease_s: float, limit: int, without: Collection[str] = ()
    ) -> Sequence[Run]:
        with self._shelf.lock:
            ready = [
                run
                for run in self._shelf.runs.values()
                if not run.status.final
                and not now_s < run.due_s <= now_s + LONGEST_PAUSE_S
                and not now_s < self._ready_s(run) <= now_s + longest_lease_s(lease_s)
                and run.engine not in without
            ]
            claimed = self._in_turn(ready, max(0, limit))
            for run in claimed:
                self._shelf.leases[run.id] = Lease(owner, now_s + lease_s)
            return claimed

    def _in_turn(self, ready: Sequence[Run], limit: int) -> list[Run]:
        """The first of these runs: those that have started, then queued ones, each with its new turn."""
        order = {run_id: at for at, run_id in enumerate(self._shelf.runs)}
        found: list[tuple[bool, float, int, float, int, Run]] = []
        for project in {run.project for run in ready}:
            room = self._room(project)
            first = sorted(
                (run for run in ready if run.project == project and (room > 0 or not self._is_new(run))),
                key=lambda run: (-run.descriptor.info.priority, self._ready_s(run), order[run.id]),
            )[:limit]
            rank = place = 0
            turn, weight = self._last_turn(project), self._shelf.weights.get(project, 1.0)
            for run in sorted(
                first, key=lambda run: (-run.descriptor.info.priority, run.due_s, order[run.id])
            ):
                rank += _is_queued(run)
                place += self._is_new(run)
                if not self._is_new(run) or place <= room:
                    key = (-run.descriptor.info.priority, self._ready_s(run), order[run.id])
                    found.append((_is_queued(run), turn + rank / weight, *key, run))
        chosen = sorted(found, key=lambda each: each[:-1])[:limit]
        self._shelf.turns |= {run.id: turn for is_queued, turn, *_, run in chosen if is_queued}
        runs = [each[-1] for each in chosen]
        runs.sort(key=lambda run: (-run.descriptor.info.priority, run.due_s, order[run.id]))
        if len({run.project for run in runs}) > 1:
            runs.sort(key=lambda run: self._shelf.turns.get(run.id, 0.0))
        return runs

    def _last_turn(self, project: str) -> float:
        """The turn before the next one of a project."""
        turns = {run.id: run.project for run in self._shelf.runs.values() if run.id in self._shelf.turns}
        newest = max((self._shelf.turns[run_id] for run_id in turns), default=0.0)
        mine = [self._shelf.turns[run_id] for run_id, name in turns.items() if name == project]
        return max([*mine, newest - 1 / self._shelf.weights.get(project, 1.0)])

    def _is_new(self, run: Run) -> bool:
        """Whether a run takes room when it is leased: it is queued, and no process may have placed it."""
        return _is_queued(run) and run.id not in self._shelf.leases

    def _room(self, project: str) -> float:
        """How many runs of a project may start."""
        in_flight = sum(
            not run.status.final and not self._is_new(run)
            for run in self._shelf.runs.values()
            if run.project == project
        )
        return self._shelf.max_running.get(project, math.inf) - in_flight

    def renew(
        self, owner: str, run_ids: Sequence[str], *, now_s: float, lease_s: float
    ) -> Mapping[str, bool]:
        with self._shelf.lock:
            kept = [run_id for run_id in run_ids if self._holds(owner, run_id)]
            for run_id in kept:
                self._shelf.leases[run_id].until_s = now_s + lease_s
            return {run_id: self._shelf.runs[run_id].cancel_requested for run_id in kept}

    def release(self, owner: str, run_ids: Sequence[str] | None = None) -> None:
        with self._shelf.lock:
            for run_id in list(self._shelf.leases) if run_ids is None else run_ids:
                if self._holds(owner, run_id):
                    del self._shelf.leases[run_id]
                    if _is_queued(self._shelf.runs[run_id]):
                        self._shelf.turns.pop(run_id, None)

    def owners(self) -> Sequence[str]:
        with self._shelf.lock:
            return sorted({lease.owner for lease in self._shelf.leases.values()})

    def next_ready_s(self, owner: str, *, now_s: float) -> float | None:
        with self._shelf.lock:
            others = [
                run
                for run in self._shelf.runs.values()
                if not run.status.final and not self._holds(owner, run.id)
            ]
            return min((at_s for at_s in map(self._ready_s, others) if at_s > now_s), default=None)

    def drivers(self, *, now_s: float, lease_s: float) -> Sequence[str]:
        latest_s = now_s + longest_lease_s(lease_s)
        with self._shelf.lock:
            leases = self._shelf.leases.values()
            return sorted({lease.owner for lease in leases if now_s < lease.until_s <= latest_s})

    def cancelled(self, owner: str) -> Sequence[str]:
        with self._shelf.lock:
            held = [run_id for run_id in self._shelf.leases if self._holds(owner, run_id)]
            return sorted(run_id for run_id in held if self._shelf.runs[run_id].cancel_requested)

    def apply(self, owner: str, run: Run, step: Step, *, now_s: float) -> Run:
        with self._shelf.lock:
            if not self._holds(owner, run.id):
                raise LeaseLostError(f"run {run.id} is held by another reconciler, or final")
            self._shelf.put_alerts(step.alerts)
            cancel_requested = self._shelf.runs[run.id].cancel_requested
            after = replace(stepped(run, step, now_s=now_s), cancel_requested=cancel_requested)
            if step.next_attempt:
                self._shelf.forget_measured(run.id)
            for block in step.samples:
                self._shelf.put_samples(run.id, block)
            self._shelf.points |= {(point.run_id, point.metric): point for point in step.points}
            if step.period is not None:
                self._shelf.periods[run.id] = step.period
            self._shelf.append(step.events)
            self._shelf.put_deliveries(step.deliveries)
            self._shelf.runs[run.id] = after
            if after.status.final:
                del self._shelf.leases[run.id]
                for other in list(self._shelf.runs.values()):
                    if other.phase is Phase.NEEDS and run.id in other.needs:
                        self._shelf.runs[other.id] = replace(other, due_s=other.created_s)
            return after

    def _holds(self, owner: str, run_id: str) -> bool:
        lease = self._shelf.leases.get(run_id)
        return lease is not None and lease.owner == owner

    def _ready_s(self, run: Run) -> float:
        lease = self._shelf.leases.get(run.id)
        return lease.until_s if lease else run.due_s


def _is_queued(run: Run) -> bool:
    return run.status in {Status.FETCH, Status.PLACE}
