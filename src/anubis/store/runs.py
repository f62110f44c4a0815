"""Reading runs, and the changes that clients make."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from anubis.contracts.runs import KeyedSubmission, Part, RunQuery, RunRow, StoredNames
from anubis.model.errors import NotFoundError
from anubis.model.ids import short_id
from anubis.model.points import Point, SampleBlock
from anubis.model.run import Event, Run
from anubis.store.adding import add_points, add_runs, replace_samples
from anubis.store.dictionaries import Dictionaries
from anubis.store.events import event_words, write_events, write_removals
from anubis.store.listing import find
from anubis.store.rows import id_bytes, id_text, run_of
from anubis.store.sql.database import Database, Row, Session, chunked
from anubis.store.sql.listening import WORK
from anubis.store.suites.submissions import Submissions, Submitted, submission_of
from anubis.store.text import unpacked

#: Maximum number of candidates of an ambiguous prefix in a message.
_CANDIDATES = 5
_ID_DIGITS = 32
_PREFIX = re.compile(rf"[0-9a-f]{{1,{_ID_DIGITS}}}")


class StoredRuns:
    """``Runs`` (see the contract) in a database."""

    def __init__(
        self,
        database: Database,
        dictionaries: Dictionaries,
        submissions: Submissions,
        session_pause_s: float,
        within: Sequence[str] | None = None,
    ) -> None:
        """``within``: names of the projects whose runs exist for the caller; None: all."""
        self._within = within
        self._database = database
        self._dictionaries = dictionaries
        self._submissions = submissions
        self._session_pause_s = session_pause_s

    def get(self, run_id: str) -> Run:
        """See the contract. Case and dashes are ignored."""
        digits = run_id.replace("-", "").lower()
        rows: Sequence[Row] = []
        if _PREFIX.fullmatch(digits):
            low, high = (bytes.fromhex(digits.ljust(_ID_DIGITS, filler)) for filler in "0f")
            values = {"low": low, "high": high, "most": _CANDIDATES + 1}
            rows = self._rows_within("get", "get_within", **values)
        if len(rows) == 1:
            return run_of(rows[0])
        if not rows:
            raise NotFoundError(f"no run has the id {run_id}", remedy="anubis history lists the runs")
        names = [id_text(row.id) for row in rows]
        shown = ", ".join(names[:_CANDIDATES]) + (", ..." if len(names) > _CANDIDATES else "")
        raise NotFoundError(f"several runs begin with {run_id}: {shown}", remedy="give more digits of the id")

    def _rows_within(self, statement: str, within: str, **values: Any) -> Sequence[Row]:
        """The rows of a statement, or of its variant ``within`` for some projects."""
        if self._within is None:
            return self._database.rows(statement, **values)
        return self._database.rows(within, projects=[*self._within], **values)

    def short_ids(self, run_ids: Iterable[str]) -> Mapping[str, str]:
        """See the contract. In the order of the ids, only the neighbours of an id can share more of it than others."""
        short = {run_id: short_id(run_id) for run_id in run_ids}
        with self._database.session() as session:
            for ids in chunked(map(id_bytes, short)):
                for row in session.rows("neighbours", ids=ids):
                    others = [id_text(other) for other in (row.before, row.after) if other is not None]
                    short[id_text(row.id)] = short_id(id_text(row.id), others)
        return short

    def text(self, run_id: str) -> str:
        full = self.get(run_id).id
        (row,) = self._database.rows("text", run_id=id_bytes(full))
        return unpacked(row.body)

    def find(self, query: RunQuery) -> Sequence[RunRow]:
        if self._within is not None:
            asked = self._within if query.projects is None else {*self._within} & {*query.projects}
            query = replace(query, projects=tuple(sorted(asked)))
        return find(self._database, query)

    def names(self) -> StoredNames:
        labels: dict[str, list[str]] = {}
        for row in self._rows_within("label_names", "label_names_within"):
            labels.setdefault(row.name, []).append(row.value)
        benchmarks = [row.name for row in self._rows_within("benchmark_names", "benchmark_names_within")]
        metrics = [row.name for row in self._rows_within("metric_names", "metric_names_within")]
        return StoredNames(
            benchmarks=tuple(sorted(benchmarks)),  # not sorted by the database, whose collation is unknown
            metrics=tuple(sorted(metrics)),
            labels={name: tuple(sorted(values)) for name, values in sorted(labels.items())},
        )

    def unfinished(self) -> int:
        (row,) = self._database.rows("unfinished")
        return int(row.runs)

    def submission(self, key: str) -> KeyedSubmission | None:
        return next(map(submission_of, self._database.rows("submission", key=key)), None)

    def add(
        self,
        runs: Sequence[tuple[Run, str]],
        events: Sequence[Event],
        *,
        keyed: KeyedSubmission | None = None,
    ) -> None:
        """See the contract. Stored runs and their events are not changed, so a call may be repeated."""
        self._submissions.add(Submitted(runs, events, keyed))

    def add_finished(
        self,
        runs: Sequence[tuple[Run, str]],
        points: Sequence[Point],
        *,
        events: Sequence[Event] = (),
        samples: Mapping[str, Sequence[SampleBlock]] | None = None,
    ) -> Sequence[str]:
        return add_runs(
            self._database,
            self._dictionaries,
            runs,
            events=events,
            points=points,
            samples=samples,
            session_pause_s=self._session_pause_s,
        )

    def add_points(self, points: Sequence[Point]) -> int:
        return add_points(self._database, self._dictionaries, points) if points else 0

    def replace_samples(self, run_id: str, samples: Sequence[SampleBlock]) -> None:
        replace_samples(self._database, self._dictionaries, run_id, samples)

    def request_cancel(self, run_ids: Sequence[str], events: Sequence[Event]) -> Sequence[str]:
        """See the contract. A waiting run becomes due at once; events of runs that were marked before are dropped."""
        words = self._dictionaries.words(event_words(events))

        def work(session: Session) -> list[str]:
            marked: list[str] = []
            for ids in chunked(sorted(map(id_bytes, run_ids))):
                marked += [id_text(row.id) for row in session.rows("request_cancel", ids=ids)]
            new = set(marked)
            write_events(session, [event for event in events if event.run_id in new], words)
            if marked:
                session.notify(WORK)
            return sorted(marked)

        return self._database.transact(work)

    def remove(self, run_ids: Iterable[str], events: Sequence[Event] = ()) -> Sequence[str]:
        """See the contract. Runs that are not final, held runs and unknown ids are ignored."""
        ids = sorted(map(id_bytes, run_ids))
        words = self._dictionaries.words(event_words(events))

        def work(session: Session) -> list[str]:
            session.rows(
                "count_events", count=0
            )  # locks out writers that add runs of the same descriptors, and holds
            removed: list[str] = []
            for some in chunked(ids):
                gone = session.rows("removable", ids=some)
                if gone:
                    numbers = [row.no for row in gone]
                    session.write("keep_events", numbers=list(numbers))
                    session.write("remove", numbers=list(numbers))
                    session.write("remove_descriptors", numbers=sorted({row.descriptor for row in gone}))
                    session.write("remove_texts", numbers=sorted({row.text for row in gone}))
                    removed += [id_text(row.id) for row in gone]
            about = set(removed)
            write_removals(session, [event for event in events if event.run_id in about], words)
            return sorted(removed)

        return self._database.transact(work)

    def expire(
        self, run_ids: Iterable[str], parts: Collection[Part], events: Sequence[Event]
    ) -> Sequence[str]:
        ids = sorted(map(id_bytes, run_ids))
        words = self._dictionaries.words(event_words(events))

        def work(session: Session) -> list[str]:
            session.rows("count_events", count=0)
            expired: list[str] = []
            for some in chunked(ids):
                found = session.rows("removable", ids=some)
                numbers = [row.no for row in found]
                if Part.SAMPLES in parts:
                    session.write("remove_samples", numbers=list(numbers))
                if Part.RECORD in parts:
                    session.write("forget_record_bytes", numbers=list(numbers))
                if Part.EVENTS in parts:
                    session.write("keep_events", numbers=list(numbers))
                    session.write("forget_events", numbers=list(numbers))
                expired += [id_text(row.id) for row in found]
            about = set(expired)
            write_events(session, [event for event in events if event.run_id in about], words)
            return sorted(expired)

        return self._database.transact(work)
