"""Runs and their events. Everything that changes a run is guarded by its lease."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from anubis.contracts.runs import RunQuery, RunRow
from anubis.model.errors import LeaseLostError, NotFoundError
from anubis.model.points import Point, SampleBlock
from anubis.model.run import Event, Run, Step, stepped
from anubis.store.adding import add_runs
from anubis.store.database import Database, Session, chunked
from anubis.store.dictionaries import Dictionaries
from anubis.store.events import event_words, write_events
from anubis.store.listing import find
from anubis.store.rows import event_of, id_bytes, id_text, run_of, step_values
from anubis.store.text import unpacked
from anubis.store.writing import Measured

#: How many candidates of an ambiguous prefix a message names.
_CANDIDATES = 5
_ID_DIGITS = 32
_PREFIX = re.compile(rf"[0-9a-f]{{1,{_ID_DIGITS}}}")


class StoredRuns:
    """``Runs`` (see the contract) in a database.

    The lease is two columns: who holds the run, and until when. Only a claim puts another holder in; every other
    write asks for the holder in its WHERE, inside the transaction. So an owner whose lease ran out may still go on
    until somebody else claims the run, and can write nothing from then on.
    """

    def __init__(self, database: Database, dictionaries: Dictionaries) -> None:
        self._database = database
        self._dictionaries = dictionaries

    def add(self, runs: Sequence[tuple[Run, str]], events: Sequence[Event]) -> None:
        """See the contract. Runs that are there already are left as they are, with their events, so a caller that
        does not know whether it got through may repeat the call.
        """
        add_runs(self._database, self._dictionaries, runs, events=events)

    def add_finished(
        self,
        runs: Sequence[tuple[Run, str]],
        points: Sequence[Point],
        *,
        events: Sequence[Event] = (),
        samples: Mapping[str, Sequence[SampleBlock]] | None = None,
    ) -> Sequence[str]:
        return add_runs(
            self._database, self._dictionaries, runs, events=events, points=points, samples=samples
        )

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Run]:
        if limit <= 0:
            return []
        claimed = self._database.lease("claim", owner=owner, now_s=now_s, until_s=now_s + lease_s, most=limit)
        if not claimed:
            return []
        rows = self._database.rows("claimed", numbers=[number for (number,) in claimed])
        return [run_of(row) for row in rows]

    def renew(
        self, owner: str, run_ids: Sequence[str], *, now_s: float, lease_s: float
    ) -> Mapping[str, bool]:
        kept: dict[str, bool] = {}
        for ids in chunked(sorted(map(id_bytes, run_ids))):
            rows = self._database.lease("renew", owner=owner, ids=ids, until_s=now_s + lease_s)
            kept |= {id_text(run_id): bool(cancel) for run_id, cancel in rows}
        return kept

    def release(self, owner: str, run_ids: Sequence[str] | None = None) -> None:
        if run_ids is None:
            self._database.lease("release_all", owner=owner)
            return
        for ids in chunked(sorted(map(id_bytes, run_ids))):
            self._database.lease("release", owner=owner, ids=ids)

    def owners(self) -> Sequence[str]:
        return sorted(owner for (owner,) in self._database.rows("owners"))

    def apply(self, owner: str, run: Run, step: Step, *, now_s: float) -> Run:
        after = stepped(run, step, now_s=now_s)
        words = self._dictionaries.words(event_words(step.events))
        measured = Measured(self._dictionaries, step)
        statement = "apply_final" if after.status.final else "apply"
        values = {"run_id": id_bytes(run.id), "owner": owner, **step_values(after)}

        def work(session: Session) -> bool:
            rows = session.rows(statement, **values)
            if not rows:
                raise LeaseLostError(f"run {run.id} is held by another reconciler, or final")
            number, cancel = rows[0]
            measured.write(session, number)
            write_events(session, step.events, words)
            return bool(cancel)

        cancelled = self._database.transact(work)
        return after if cancelled == after.cancel_requested else replace(after, cancel_requested=cancelled)

    def request_cancel(self, run_ids: Sequence[str], events: Sequence[Event]) -> Sequence[str]:
        """See the contract. A run that waits for its time becomes due at once; events of runs that were not marked
        now are dropped.
        """
        words = self._dictionaries.words(event_words(events))

        def work(session: Session) -> list[str]:
            marked: list[str] = []
            for ids in chunked(sorted(map(id_bytes, run_ids))):
                marked += [id_text(run_id) for (run_id,) in session.rows("request_cancel", ids=ids)]
            new = set(marked)
            write_events(session, [event for event in events if event.run_id in new], words)
            return sorted(marked)

        return self._database.transact(work)

    def cancelled(self, owner: str) -> Sequence[str]:
        return [id_text(run_id) for (run_id,) in self._database.rows("cancelled", owner=owner)]

    def get(self, run_id: str) -> Run:
        """See the contract. Case and dashes do not matter."""
        digits = run_id.replace("-", "").lower()
        rows = []
        if _PREFIX.fullmatch(digits):
            low, high = (bytes.fromhex(digits.ljust(_ID_DIGITS, filler)) for filler in "0f")
            rows = self._database.rows("get", low=low, high=high, most=_CANDIDATES + 1)
        if len(rows) == 1:
            return run_of(rows[0])
        if not rows:
            raise NotFoundError(f"no run has the id {run_id}", remedy="anubis history lists the runs")
        names = [id_text(row[0]) for row in rows]
        shown = ", ".join(names[:_CANDIDATES]) + (", ..." if len(names) > _CANDIDATES else "")
        raise NotFoundError(f"several runs begin with {run_id}: {shown}", remedy="give more digits of the id")

    def text(self, run_id: str) -> str:
        full = self.get(run_id).id
        ((body,),) = self._database.rows("text", run_id=id_bytes(full))
        return unpacked(body)

    def find(self, query: RunQuery) -> Sequence[RunRow]:
        return find(self._database, query)

    def unfinished(self) -> int:
        ((number,),) = self._database.rows("unfinished")
        return int(number)

    def events(self, run_id: str | None = None, *, after_seq: int = 0, limit: int = 1000) -> Sequence[Event]:
        """See the contract. Numbers have no gaps but those of runs that were removed, and their order is the order
        of commits: whoever has read up to ``n`` has missed nothing up to ``n``, ever, whatever commits later.
        Writers take their numbers from one row that they hold until they commit; on PostgreSQL this makes
        transactions with events wait for one another.
        """
        if run_id is None:
            rows = self._database.rows("events", after_seq=after_seq, most=limit)
        else:
            rows = self._database.rows(
                "events_of_run", run_id=id_bytes(run_id), after_seq=after_seq, most=limit
            )
        return [event_of(row) for row in rows]

    def remove(self, run_ids: Iterable[str]) -> None:
        """See the contract. Runs that are not final, and ids that name none, are passed over."""
        ids = sorted(map(id_bytes, run_ids))

        def work(session: Session) -> None:
            session.rows("count_events", count=0)  # nobody adds runs of the same descriptors meanwhile
            for some in chunked(ids):
                gone = session.rows("dropped", ids=list(some))
                session.write("remove", ids=some)
                for name, numbers in zip(
                    ("remove_descriptors", "remove_texts"), zip(*gone, strict=True), strict=False
                ):
                    session.write(name, numbers=sorted(set(numbers)))

        self._database.transact(work)
