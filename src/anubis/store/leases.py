"""Who drives which run, and what stages decide."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from anubis.model.errors import LeaseLostError
from anubis.model.run import LONGEST_PAUSE_S, Run, Step, longest_lease_s, stepped
from anubis.store.deliveries import write_deliveries
from anubis.store.dictionaries import Dictionaries
from anubis.store.events import event_words, write_events
from anubis.store.rows import id_bytes, id_text, run_of, step_values
from anubis.store.sql.database import Database, Row, Session, chunked
from anubis.store.sql.listening import WORK
from anubis.store.text import clean
from anubis.store.writing import Measured, assign_sessions


class StoredLeases:
    """``Leases`` (see the contract) in a database.

    The lease is two columns: who holds the run, and until when. Only a claim writes another holder; every other
    statement has the holder in its WHERE, inside the transaction. So an owner whose lease ran out may continue
    until another owner claims the run, and can write nothing from then on.
    """

    def __init__(self, database: Database, dictionaries: Dictionaries, session_pause_s: float) -> None:
        self._database = database
        self._dictionaries = dictionaries
        self._session_pause_s = session_pause_s

    def claim(
        self, owner: str, *, now_s: float, lease_s: float, limit: int, without: Collection[str] = ()
    ) -> Sequence[Run]:
        if limit <= 0:
            return []
        values = {"owner": owner, "now_s": now_s, "until_s": now_s + lease_s, "most": limit}
        values |= {"latest_s": now_s + LONGEST_PAUSE_S, "latest_lease_s": now_s + longest_lease_s(lease_s)}
        if without:
            words = self._dictionaries.words(without)
            engines = [words[clean(engine)] for engine in without]
            claimed = self._claimed("claim_without", {"engines": engines, **values})
        else:
            claimed = self._claimed("claim", values)
        if not claimed:
            return []
        rows = self._database.rows("claimed", numbers=[row.no for row in claimed])
        if len({row.project for row in rows}) > 1:
            rows.sort(key=lambda row: 0.0 if row.turn is None else row.turn)
        return [run_of(row) for row in rows]

    def _claimed(self, statement: str, values: dict[str, Any]) -> Sequence[Row]:
        """The numbers of the runs that are leased now.

        While a project has a limit, one process claims at a time: each statement sees the claims that were committed before
        it began, so the limit is never exceeded. SQLite has one writer anyway.
        """
        if not self._database.driver.many_writers or not self._database.rows("limited_projects"):
            return self._database.lease(statement, **values)

        def claim(session: Session) -> Sequence[Row]:
            session.rows("lock_limits")
            return session.rows(statement, **dict(values))

        return self._database.transact(claim, durable=False)

    def renew(
        self, owner: str, run_ids: Sequence[str], *, now_s: float, lease_s: float
    ) -> Mapping[str, bool]:
        kept: dict[str, bool] = {}
        for ids in chunked(sorted(map(id_bytes, run_ids))):
            rows = self._database.lease("renew", owner=owner, ids=ids, until_s=now_s + lease_s)
            kept |= {id_text(row.id): bool(row.cancel) for row in rows}
        return kept

    def release(self, owner: str, run_ids: Sequence[str] | None = None) -> None:
        if run_ids is None:
            released = bool(self._database.lease("release_all", owner=owner))
        else:
            chunks = chunked(sorted(map(id_bytes, run_ids)))
            released = sum(len(self._database.lease("release", owner=owner, ids=ids)) for ids in chunks) > 0
        if released:
            self._database.notify(WORK)

    def owners(self) -> Sequence[str]:
        return sorted(row.holder for row in self._database.rows("owners"))

    def next_ready_s(self, owner: str, *, now_s: float) -> float | None:
        (row,) = self._database.rows("next_ready", owner=owner, now_s=now_s)
        return None if row.ready_s is None else float(row.ready_s)

    def drivers(self, *, now_s: float, lease_s: float) -> Sequence[str]:
        latest_lease_s = now_s + longest_lease_s(lease_s)
        rows = self._database.rows("drivers", now_s=now_s, latest_lease_s=latest_lease_s)
        return sorted(row.holder for row in rows)

    def cancelled(self, owner: str) -> Sequence[str]:
        return [id_text(row.id) for row in self._database.rows("cancelled", owner=owner)]

    def apply(self, owner: str, run: Run, step: Step, *, now_s: float) -> Run:
        after = stepped(run, step, now_s=now_s)
        words = self._dictionaries.words(event_words(step.events))
        measured = Measured(self._dictionaries, step)
        statement = "apply_final" if after.status.final else "apply"
        values = {"run_id": id_bytes(run.id), "owner": owner, **step_values(after)}
        if after.status.final:
            values["record_bytes"] = step.record_bytes

        def work(session: Session) -> bool:
            rows = session.rows(statement, **values)
            if not rows:
                raise LeaseLostError(f"run {run.id} is held by another reconciler, or final")
            measured.write(session, rows[0].no)
            if step.period is not None:
                assign_sessions(session, {rows[0].no: step.period}, self._session_pause_s)
            if after.status.final:
                session.write("wake_waiting", run_id=run.id)
            write_events(session, step.events, words)
            write_deliveries(session, step.deliveries)
            return bool(rows[0].cancel)

        cancelled = self._database.transact(work)
        return after if cancelled == after.cancel_requested else replace(after, cancel_requested=cancelled)
