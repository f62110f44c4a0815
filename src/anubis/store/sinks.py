"""Sinks of events, and runs that are held."""

import json
from collections.abc import Iterable, Sequence

from anubis.contracts.events import PURGED_EVENT, Sink
from anubis.contracts.garbage import Hold
from anubis.model.errors import NotFoundError
from anubis.model.run import LONGEST_PAUSE_S, Event, longest_lease_s
from anubis.store.dictionaries import Dictionaries
from anubis.store.events import event_words, write_events
from anubis.store.rows import id_bytes, id_text
from anubis.store.sql.codes import SINK_STATE_CODES, SINK_STATES
from anubis.store.sql.database import Database, Row, Session
from anubis.store.text import clean, json_text

#: Maximum number of candidates of an ambiguous prefix in a message.
_CANDIDATES = 5


class StoredSinks:
    """``Sinks`` (see the contract) in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, sink: Sink) -> None:
        values = {
            "id": sink.id,
            "address": clean(sink.address),
            "secret": clean(sink.secret),
            "kinds": json_text(list(sink.kinds)) if sink.kinds else None,
            "created_s": sink.created_s,
            **_outcome(sink),
        }
        self._database.write("add_sink", **values)

    def get(self, ref: str) -> Sink:
        rows = self._database.rows("sink", prefix=ref.lower(), most=_CANDIDATES) if ref else []
        if len(rows) == 1:
            return _sink_of(rows[0])
        if rows:
            shown = ", ".join(row.id for row in rows)
            raise NotFoundError(f"several webhooks begin with {ref}: {shown}", remedy="write more digits")
        raise NotFoundError(f"no webhook has the id {ref}", remedy="anubis webhook list shows the ids")

    def find(self) -> Sequence[Sink]:
        return list(map(_sink_of, self._database.rows("sinks")))

    def remove(self, sink_id: str) -> None:
        self._database.write("remove_sink", id=sink_id)

    def resume(self, sink_id: str, *, now_s: float) -> None:
        self._database.write("resume_sink", id=sink_id, due_s=now_s)

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Sink]:
        values = {"owner": owner, "now_s": now_s, "until_s": now_s + lease_s, "most": limit}
        values |= {"latest_s": now_s + LONGEST_PAUSE_S, "latest_lease_s": now_s + longest_lease_s(lease_s)}
        claimed = self._database.lease("claim_sinks", **values)
        if not claimed:
            return []
        rows = self._database.rows("claimed_sinks", numbers=[row.no for row in claimed])
        return list(map(_sink_of, rows))

    def renew(self, owner: str, numbers: Sequence[int], *, now_s: float, lease_s: float) -> Sequence[int]:
        rows = self._database.lease(
            "renew_sinks", owner=owner, numbers=list(numbers), until_s=now_s + lease_s
        )
        return sorted(row.no for row in rows)

    def release(self, owner: str) -> None:
        self._database.lease("release_sinks", owner=owner)

    def owners(self) -> Sequence[str]:
        return sorted(row.holder for row in self._database.rows("sink_owners"))

    def apply(self, owner: str, after: Sink) -> bool:
        def work(session: Session) -> bool:
            is_held = bool(session.rows("apply_sink", owner=owner, no=after.no, **_outcome(after)))
            if is_held:
                session.write("forget_removed_events", purged=PURGED_EVENT)
            return is_held

        return self._database.transact(work)

    def next_due_s(self) -> float | None:
        (row,) = self._database.rows("next_sink")
        due_s: float | None = row.due_s
        return due_s


class StoredHolds:
    """``Holds`` (see the contract) in a database.

    Every change writes an event, and so waits for the removal of runs, which locks the same row.
    """

    def __init__(self, database: Database, dictionaries: Dictionaries) -> None:
        self._database = database
        self._dictionaries = dictionaries

    def add(self, holds: Sequence[Hold], events: Sequence[Event]) -> None:
        words = self._dictionaries.words(event_words(events))

        def work(session: Session) -> None:
            session.rows("count_events", count=0)
            stored = {
                row.id for row in session.rows("known_runs", ids=[id_bytes(each.run_id) for each in holds])
            }
            for each in holds:
                run_id = id_bytes(each.run_id)
                if run_id not in stored:
                    raise NotFoundError(f"no run has the id {each.run_id}", remedy="it was removed meanwhile")
                session.write(
                    "add_hold",
                    run_id=run_id,
                    why=clean(each.why),
                    actor=clean(each.actor),
                    created_s=each.created_s,
                )
            write_events(session, events, words)

        self._database.transact(work)

    def remove(self, run_ids: Iterable[str], events: Sequence[Event]) -> Sequence[str]:
        words = self._dictionaries.words(event_words(events))
        ids = sorted(map(id_bytes, run_ids))

        def work(session: Session) -> list[str]:
            held = {id_text(row.id) for row in session.rows("held", ids=list(ids))}
            session.write("remove_holds", ids=list(ids))
            write_events(session, [event for event in events if event.run_id in held], words)
            return sorted(held)

        return self._database.transact(work)

    def find(self) -> Sequence[Hold]:
        return [
            Hold(run_id=id_text(row.id), why=row.why, actor=row.actor, created_s=row.created_s)
            for row in self._database.rows("holds")
        ]

    def held(self, run_ids: Iterable[str]) -> Sequence[str]:
        ids = sorted(map(id_bytes, run_ids))
        return sorted(id_text(row.id) for row in self._database.rows("held", ids=ids))


def _outcome(sink: Sink) -> dict[str, object]:
    """What an attempt changes."""
    return {
        "seq": sink.cursor,
        "state": SINK_STATE_CODES[sink.state],
        "due_s": sink.due_s,
        "attempts": sink.attempts,
        "error": clean(sink.error) or None,
        "delivered": sink.delivered,
        "delivered_s": sink.delivered_s,
    }


def _sink_of(row: Row) -> Sink:
    return Sink(
        id=row.id,
        address=row.address,
        secret=row.secret,
        kinds=tuple(json.loads(row.kinds)) if row.kinds else (),
        created_s=row.created_s,
        cursor=row.seq,
        state=SINK_STATES[row.state],
        due_s=row.due_s,
        attempts=row.attempts,
        error=row.error or "",
        delivered=row.delivered,
        delivered_s=row.delivered_s,
        behind=row.behind,
        no=row.no,
    )
