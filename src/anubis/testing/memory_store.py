"""The store in memory, as one page of plain Python: what every real one has to agree with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from anubis.contracts.runs import RunQuery, RunRow
from anubis.model.alert import Alert, AlertState
from anubis.model.errors import LeaseLostError, NotFoundError
from anubis.model.points import Point, SampleBlock
from anubis.model.run import Event, Run, Step, stepped
from anubis.testing.memory_points import FakePoints
from anubis.testing.memory_state import Lease, MemoryState


class FakeRuns:
    """``Runs`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf

    def add(self, runs: Sequence[tuple[Run, str]], events: Sequence[Event]) -> None:
        with self._shelf.lock:
            given = {run.id for run, _ in runs}
            new = [(run, text) for run, text in runs if run.id not in self._shelf.runs]
            if runs and not new:
                return
            for run, text in new:
                self._shelf.runs[run.id] = run
                self._shelf.texts[run.id] = text
            fresh = {run.id for run, _ in new}
            self._shelf.append(e for e in events if e.run_id in fresh or e.run_id not in given)

    def add_finished(
        self,
        runs: Sequence[tuple[Run, str]],
        points: Sequence[Point],
        *,
        events: Sequence[Event] = (),
        samples: Mapping[str, Sequence[SampleBlock]] | None = None,
    ) -> Sequence[str]:
        with self._shelf.lock:
            new = [run.id for run, _ in runs if run.id not in self._shelf.runs]
            self.add(runs, events)
            for run_id in new:
                for block in (samples or {}).get(run_id, ()):
                    self._shelf.put_samples(run_id, block)
            self._shelf.points |= {(each.run_id, each.metric): each for each in points if each.run_id in new}
        return new

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Run]:
        with self._shelf.lock:
            ready = [
                run
                for run in self._shelf.runs.values()
                if not run.status.final and max(run.due_s, self._ready_s(run)) <= now_s
            ]
            ready.sort(key=lambda run: (-run.descriptor.info.priority, self._ready_s(run)))
            claimed = ready[: max(0, limit)]
            for run in claimed:
                self._shelf.leases[run.id] = Lease(owner, now_s + lease_s)
            order = list(self._shelf.runs)
            claimed.sort(key=lambda run: (-run.descriptor.info.priority, run.due_s, order.index(run.id)))
            return claimed

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

    def owners(self) -> Sequence[str]:
        with self._shelf.lock:
            return sorted({lease.owner for lease in self._shelf.leases.values()})

    def apply(self, owner: str, run: Run, step: Step, *, now_s: float) -> Run:
        with self._shelf.lock:
            if not self._holds(owner, run.id):
                raise LeaseLostError(f"run {run.id} is held by another reconciler, or final")
            asked = self._shelf.runs[run.id].cancel_requested
            after = replace(stepped(run, step, now_s=now_s), cancel_requested=asked)
            if step.next_attempt:
                self._shelf.forget_measured(run.id)
            for block in step.samples:
                self._shelf.put_samples(run.id, block)
            self._shelf.points |= {(point.run_id, point.metric): point for point in step.points}
            self._shelf.alerts |= {alert.id: alert for alert in step.alerts}
            self._shelf.append(step.events)
            self._shelf.runs[run.id] = after
            if after.status.final:
                del self._shelf.leases[run.id]
            return after

    def request_cancel(self, run_ids: Sequence[str], events: Sequence[Event]) -> Sequence[str]:
        with self._shelf.lock:
            marked = []
            for run_id in sorted(set(run_ids)):
                run = self._shelf.runs.get(run_id)
                if run and not run.status.final and not run.cancel_requested:
                    self._shelf.runs[run_id] = replace(run, cancel_requested=True, due_s=run.created_s)
                    marked.append(run_id)
            self._shelf.append(event for event in events if event.run_id in marked)
            return marked

    def cancelled(self, owner: str) -> Sequence[str]:
        with self._shelf.lock:
            held = [run_id for run_id in self._shelf.leases if self._holds(owner, run_id)]
            return sorted(run_id for run_id in held if self._shelf.runs[run_id].cancel_requested)

    def get(self, run_id: str) -> Run:
        digits = run_id.replace("-", "").lower()
        found = [run for run in self._shelf.runs.values() if run.id.replace("-", "").startswith(digits)]
        if len(found) == 1 and digits:
            return found[0]
        if not found or not digits:
            raise NotFoundError(f"no run has the id {run_id}", remedy="look at the list of runs")
        shown = ", ".join(sorted(run.id for run in found)[:5])
        raise NotFoundError(f"several runs begin with {run_id}: {shown}", remedy="give more digits")

    def text(self, run_id: str) -> str:
        return self._shelf.texts[self.get(run_id).id]

    def find(self, query: RunQuery) -> Sequence[RunRow]:
        with self._shelf.lock:
            runs = list(self._shelf.runs.values())
            found = [run for run in runs if self._matches(run, query)]
            found.sort(key=lambda run: (run.created_s, runs.index(run)), reverse=query.newest_first)
            return [self._row(run) for run in found[: query.limit]]

    def unfinished(self) -> int:
        with self._shelf.lock:
            return sum(not run.status.final for run in self._shelf.runs.values())

    def events(self, run_id: str | None = None, *, after_seq: int = 0, limit: int = 1000) -> Sequence[Event]:
        with self._shelf.lock:
            return [
                event
                for event in self._shelf.events
                if (event.seq or 0) > after_seq and run_id in {None, event.run_id}
            ][:limit]

    def remove(self, run_ids: Iterable[str]) -> None:
        with self._shelf.lock:
            gone = {i for i in run_ids if i in self._shelf.runs and self._shelf.runs[i].status.final}
            for run_id in gone:
                del self._shelf.runs[run_id], self._shelf.texts[run_id]
                self._shelf.forget_measured(run_id)
            self._shelf.events = [event for event in self._shelf.events if event.run_id not in gone]

    def _holds(self, owner: str, run_id: str) -> bool:
        lease = self._shelf.leases.get(run_id)
        return lease is not None and lease.owner == owner

    def _ready_s(self, run: Run) -> float:
        lease = self._shelf.leases.get(run.id)
        return lease.until_s if lease else run.due_s

    def _points(self, run: Run) -> list[Point]:
        return [point for (run_id, _), point in self._shelf.points.items() if run_id == run.id]

    def _matches(self, run: Run, query: RunQuery) -> bool:
        info, subject = run.descriptor.info, run.descriptor.subject
        return (
            (not query.ids or run.id in query.ids)
            and (not query.statuses or run.status in query.statuses)
            and query.name in {None, info.name}
            and (subject.commit or subject.version or "").startswith(query.subject or "")
            and query.labels.items() <= info.labels.items()
            and query.family_id in {None, run.family_id}
            and query.parent_id in {None, run.parent_id}
            and (query.metric is None or any(p.metric == query.metric for p in self._points(run)))
            and (query.since_s is None or run.created_s >= query.since_s)
            and (query.until_s is None or run.created_s < query.until_s)
        )

    def _row(self, run: Run) -> RunRow:
        subject = run.descriptor.subject
        return RunRow(
            id=run.id,
            name=run.descriptor.info.name,
            status=run.status,
            cause=run.cause,
            engine=run.engine,
            created_s=run.created_s,
            placed_s=run.placed_s,
            ended_s=run.ended_s,
            reason=run.reason,
            family_id=run.family_id,
            labels=run.descriptor.info.labels,
            subject=subject.commit or subject.version or "",
            values={point.metric: (point.value, point.units) for point in self._points(run)},
        )


class FakeAlerts:
    """``Alerts`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf

    def put(self, alerts: Sequence[Alert], events: Sequence[Event]) -> None:
        with self._shelf.lock:
            self._shelf.alerts |= {alert.id: alert for alert in alerts}
            self._shelf.append(events)

    def get(self, alert_id: str) -> Alert:
        if alert_id in self._shelf.alerts:
            return self._shelf.alerts[alert_id]
        found = [alert for alert in self._shelf.alerts.values() if alert_id and alert.id.startswith(alert_id)]
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFoundError(f"no alert has the id {alert_id}", remedy="look at the list of alerts")
        shown = ", ".join(sorted(alert.id for alert in found))
        raise NotFoundError(f"several alerts begin with {alert_id}: {shown}", remedy="give more digits")

    def trail(self, alert_id: str) -> Sequence[Event]:
        events = self._shelf.events
        return [event for event in events if event.kind == "alert" and event.data.get("alert") == alert_id]

    def find(
        self,
        *,
        states: Sequence[AlertState] = (),
        benchmark: str | None = None,
        series_key: str | None = None,
    ) -> Sequence[Alert]:
        found = [
            alert
            for alert in self._shelf.alerts.values()
            if (not states or alert.state in states)
            and benchmark in {None, alert.benchmark}
            and (series_key is None or any(row.series_key == series_key for row in alert.rows))
        ]
        return sorted(found, key=lambda alert: (-alert.opened_s, alert.id))


class FakeCursors:
    """``Cursors`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf

    def all(self, prefix: str) -> Mapping[str, int]:
        return {name: seq for name, seq in self._shelf.cursors.items() if name.startswith(prefix)}

    def advance(self, name: str, seq: int) -> None:
        with self._shelf.lock:
            self._shelf.cursors[name] = max(seq, self._shelf.cursors.get(name, seq))


class FakeStore:
    """The four together, as ``anubis.store.open_store`` gives them."""

    def __init__(self) -> None:
        shelf = MemoryState()
        self.runs = FakeRuns(shelf)
        self.points = FakePoints(shelf)
        self.alerts = FakeAlerts(shelf)
        self.cursors = FakeCursors(shelf)

    def close(self) -> None:
        """Nothing to close; a fake store lives as long as the test."""
