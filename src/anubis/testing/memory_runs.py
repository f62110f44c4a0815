"""Runs in memory, the reference for every store of runs."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from anubis.contracts.runs import KeyedSubmission, Part, RunQuery, RunRow, StoredNames
from anubis.model.errors import ConflictError, NotFoundError
from anubis.model.ids import short_id
from anubis.model.points import Point, SampleBlock
from anubis.model.run import Event, Run, finished_period
from anubis.testing.memory_state import MemoryState


class FakeRuns:
    """``Runs`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf

    def get(self, run_id: str) -> Run:
        digits = run_id.replace("-", "").lower()
        matches = [run for run in self._shelf.runs.values() if run.id.replace("-", "").startswith(digits)]
        if len(matches) == 1 and digits:
            return matches[0]
        if not matches or not digits:
            raise NotFoundError(f"no run has the id {run_id}", remedy="look at the list of runs")
        shown = ", ".join(sorted(run.id for run in matches)[:5])
        raise NotFoundError(f"several runs begin with {run_id}: {shown}", remedy="give more digits")

    def short_ids(self, run_ids: Iterable[str]) -> Mapping[str, str]:
        stored = list(self._shelf.runs)
        return {run_id: short_id(run_id, [one for one in stored if one != run_id]) for run_id in run_ids}

    def text(self, run_id: str) -> str:
        return self._shelf.texts[self.get(run_id).id]

    def find(self, query: RunQuery) -> Sequence[RunRow]:
        with self._shelf.lock:
            runs = list(self._shelf.runs.values())
            runs.sort(key=lambda run: run.created_s)  # stable: runs of equal time keep the order of insertion
            if query.newest_first:
                runs.reverse()
            if query.after is not None:
                runs = runs[self._place(runs, query.after) + 1 :]
            matches = [run for run in runs if self._matches(run, query)]
            return [self._row(run) for run in matches[: query.limit]]

    def _place(self, runs: Sequence[Run], run_id: str) -> int:
        place = next((at for at, run in enumerate(runs) if run.id == run_id), None)
        if place is None:
            raise NotFoundError(
                f"the listing cannot continue after run {run_id}, which is not stored",
                remedy="start again with the first page",
            )
        return place

    def names(self) -> StoredNames:
        with self._shelf.lock:
            infos = [run.descriptor.info for run in self._shelf.runs.values()]
            metrics = {metric for _, metric in self._shelf.points}
        labels: dict[str, set[str]] = {}
        for name, value in (pair for info in infos for pair in info.labels.items()):
            labels.setdefault(name, set()).add(value)
        return StoredNames(
            benchmarks=tuple(sorted({info.name for info in infos})),
            metrics=tuple(sorted(metrics)),
            labels={name: tuple(sorted(values)) for name, values in sorted(labels.items())},
        )

    def unfinished(self) -> int:
        with self._shelf.lock:
            return sum(not run.status.final for run in self._shelf.runs.values())

    def submission(self, key: str) -> KeyedSubmission | None:
        with self._shelf.lock:
            return self._shelf.submissions.get(key)

    def add(
        self,
        runs: Sequence[tuple[Run, str]],
        events: Sequence[Event],
        *,
        keyed: KeyedSubmission | None = None,
    ) -> None:
        with self._shelf.lock:
            if keyed:
                stored = self._shelf.submissions.get(keyed.key)
                if stored and stored != keyed:
                    raise ConflictError(f"a submission with the key {keyed.key!r} is stored")
                self._shelf.submissions = {
                    key: each
                    for key, each in self._shelf.submissions.items()
                    if each.created_s >= keyed.created_s - 7 * 86_400
                } | {keyed.key: keyed}
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
            machines = {point.run_id: point.fingerprint for point in points}
            self._shelf.periods |= {
                run.id: finished_period(run, machines[run.id])
                for run, _ in runs
                if run.id in new and run.id in machines
            }
            self._shelf.points |= {(each.run_id, each.metric): each for each in points if each.run_id in new}
        return new

    def add_points(self, points: Sequence[Point]) -> int:
        with self._shelf.lock:
            before = len(self._shelf.points)
            measured = {run_id for run_id, _ in self._shelf.points}
            for point in points:
                if point.run_id in measured and self._shelf.runs[point.run_id].status.final:
                    self._shelf.points.setdefault((point.run_id, point.metric), point)
            return len(self._shelf.points) - before

    def replace_samples(self, run_id: str, samples: Sequence[SampleBlock]) -> None:
        with self._shelf.lock:
            if run_id not in self._shelf.runs or not self._shelf.runs[run_id].status.final:
                raise NotFoundError(f"no final run has the id {run_id}")
            for key in [key for key in self._shelf.samples if key[0] == run_id]:
                del self._shelf.samples[key]
            self._shelf.samples |= {(run_id, block.metric): block for block in samples}

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

    def remove(self, run_ids: Iterable[str], events: Sequence[Event] = ()) -> Sequence[str]:
        with self._shelf.lock:
            gone = self._removable(run_ids)
            self._shelf.drop_events(gone)
            for run_id in gone:
                del self._shelf.runs[run_id], self._shelf.texts[run_id]
                self._shelf.forget_measured(run_id)
            for no, delivery in self._shelf.deliveries.items():
                if delivery.run_id in gone:
                    self._shelf.deliveries[no] = replace(delivery, run_id=None)
            self._shelf.append_removed([event for event in events if event.run_id in gone])
            return sorted(gone)

    def expire(
        self, run_ids: Iterable[str], parts: Collection[Part], events: Sequence[Event]
    ) -> Sequence[str]:
        with self._shelf.lock:
            found = self._removable(run_ids)
            if Part.SAMPLES in parts:
                for key in [key for key in self._shelf.samples if key[0] in found]:
                    del self._shelf.samples[key]
            if Part.EVENTS in parts:
                self._shelf.drop_events(found)
            self._shelf.append([event for event in events if event.run_id in found])
            return sorted(found)

    def _removable(self, run_ids: Iterable[str]) -> set[str]:
        stored = self._shelf.runs
        return {i for i in run_ids if i in stored and stored[i].status.final and i not in self._shelf.holds}

    def _points(self, run: Run) -> list[Point]:
        return [point for (run_id, _), point in self._shelf.points.items() if run_id == run.id]

    def _matches(self, run: Run, query: RunQuery) -> bool:
        info, subject = run.descriptor.info, run.descriptor.subject
        return (
            (not query.ids or run.id in query.ids)
            and (query.projects is None or run.project in query.projects)
            and (not query.statuses or run.status in query.statuses)
            and query.name in {None, info.name}
            and (subject.commit or subject.version or "").startswith(query.subject or "")
            and query.labels.items() <= info.labels.items()
            and query.family_id in {None, run.family_id}
            and query.owner in {None, run.owner}
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
            cell=run.cell,
            overrides=run.overrides,
            cost=run.cost,
            project=run.project,
            values={point.metric: (point.value, point.units) for point in self._points(run)},
        )
