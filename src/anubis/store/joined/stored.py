"""Joined workers and their assignments in a database."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from anubis.contracts.machines.joined import Choose
from anubis.model.errors import ConflictError, NotFoundError
from anubis.model.machines.joined import Assignment, JoinedWorker
from anubis.model.plain import from_plain, to_plain
from anubis.store.sql.database import Database, Row, Session
from anubis.store.text import json_text, packed, unpacked

#: How long a closed assignment is kept, seconds.
KEPT_S = 30 * 86_400.0


class StoredJoinedWorkers:
    """``JoinedWorkers`` (see the contract) in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, token: str, *, now_s: float) -> JoinedWorker:
        try:
            known = self.get(name)
        except NotFoundError:
            new = JoinedWorker(name=name, created_s=now_s, token=token, version=1)
            values = {
                "name": name,
                "token": token,
                "body": _body(new),
                "seen_s": None,
                "beats": 0,
                "version": 1,
            }
            if self._database.transact(lambda session: session.rows("add_joined_worker", **values)):
                return new
            known = self.get(name)  # another process added it meanwhile
        return self._change(replace(known, token=token, revoked_s=None, created_s=now_s))

    def revoke(self, name: str, *, now_s: float) -> JoinedWorker:
        return self._change(replace(self.get(name), token="", revoked_s=now_s))

    def get(self, name: str) -> JoinedWorker:
        rows = self._database.rows("joined_worker", name=name)
        if not rows:
            raise NotFoundError(
                f'no worker is named "{name}"', remedy="anubis worker list shows the joined workers"
            )
        return _worker_of(rows[0])

    def find(self) -> Sequence[JoinedWorker]:
        # Not sorted by the database, whose collation is unknown.
        return sorted(map(_worker_of, self._database.rows("joined_workers")), key=lambda worker: worker.name)

    def of_token(self, token: str) -> JoinedWorker | None:
        rows = self._database.rows("joined_worker_of_token", token=token)
        return _worker_of(rows[0]) if rows else None

    def beat(self, reported: JoinedWorker, *, now_s: float) -> JoinedWorker:
        values = {"name": reported.name, "token": reported.token, "body": _body(reported), "seen_s": now_s}
        rows = self._database.lease("beat_joined_worker", **values)
        if not rows:
            raise ConflictError(
                f"the token of worker {reported.name} was replaced or revoked",
                remedy="join with the new token",
            )
        return replace(reported, seen_s=now_s, beats=rows[0].beats, version=rows[0].version)

    def queue(self, assignment: Assignment) -> Assignment:
        new = replace(assignment, version=1)
        values = {**_values(new), "queued_s": new.queued_s, "version": 1}

        def work(session: Session) -> Assignment:
            session.write("forget_assignments", before_s=new.queued_s - KEPT_S)
            session.write("add_assignment", **values)
            return _assignment_of(session.row("assignment", **_key(new)))

        return self._database.transact(work)

    def take(self, worker: JoinedWorker, choose: Choose, *, now_s: float) -> Sequence[Assignment]:
        if not self._database.rows("count_waiting")[0].count:
            return self.assigned(worker.name)

        def work(session: Session) -> None:
            session.rows("count_events", count=0)  # a lock: limits of families count what other workers get
            if session.row("joined_worker", name=worker.name).token != worker.token:
                return  # replaced or revoked while its request waited
            for chosen in choose(_in_order(session.rows("open_assignments"))):
                _changed(session, replace(chosen, worker=worker.name, place=worker.place, assigned_s=now_s))

        self._database.transact(work)
        return self.assigned(worker.name)

    def assigned(self, worker: str) -> Sequence[Assignment]:
        found = map(_assignment_of, self._database.rows("assigned", worker=worker))
        return sorted(found, key=lambda each: (each.assigned_s or 0.0, each.run_id, each.attempt))

    def open(self) -> Sequence[Assignment]:
        return _in_order(self._database.rows("open_assignments"))

    def get_attempt(self, run_id: str, attempt: int) -> Assignment | None:
        rows = self._database.rows("assignment", run=run_id, attempt=attempt)
        return _assignment_of(rows[0]) if rows else None

    def attempts(self, names: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], Assignment]:
        known = {(each.run_id, each.attempt): each for each in self.open()} if len(names) > 1 else {}
        found = {}
        for run_id, attempt in names:
            each = known.get((run_id, attempt)) or self.get_attempt(run_id, attempt)
            if each is not None:
                found[run_id, attempt] = each
        return found

    def change(self, assignment: Assignment) -> Assignment:
        changed = self._database.transact(lambda session: _changed(session, assignment))
        if changed is None:
            raise ConflictError(f"attempt {assignment.name} was changed meanwhile", remedy="try again")
        return changed

    def close_silent(self, assignment: Assignment, *, beats: int) -> Assignment | None:
        def work(session: Session) -> Assignment | None:
            rows = session.rows("lock_joined_worker", name=assignment.worker)
            return None if rows and rows[0].beats != beats else _changed(session, assignment)

        return self._database.transact(work)

    def _change(self, worker: JoinedWorker) -> JoinedWorker:
        values = {
            "name": worker.name,
            "token": worker.token or None,
            "body": _body(worker),
            "expected": worker.version,
        }
        rows = self._database.transact(lambda session: session.rows("change_joined_worker", **values))
        if not rows:
            raise ConflictError(f"worker {worker.name} was changed meanwhile", remedy="try again")
        return replace(worker, version=rows[0].version)


def _changed(session: Session, assignment: Assignment) -> Assignment | None:
    rows = session.rows("change_assignment", **_values(assignment), expected=assignment.version)
    return replace(assignment, version=rows[0].version) if rows else None


def _values(assignment: Assignment) -> dict[str, Any]:
    return {
        **_key(assignment),
        "worker": assignment.worker or None,
        "is_open": int(assignment.is_open),
        "body": _body(assignment),
    }


def _key(assignment: Assignment) -> dict[str, Any]:
    return {"run": assignment.run_id, "attempt": assignment.attempt}


def _in_order(rows: Sequence[Row]) -> list[Assignment]:
    """By priority, then in the order in which they were queued."""
    found = map(_assignment_of, rows)
    return sorted(found, key=lambda each: (-each.priority, each.queued_s, each.run_id, each.attempt))


def _body(value: JoinedWorker | Assignment) -> bytes:
    return packed(json_text(to_plain(value)))


def _worker_of(row: Row) -> JoinedWorker:
    worker = from_plain(JoinedWorker, json.loads(unpacked(row.body)))
    return replace(worker, token=row.token or "", seen_s=row.seen_s, beats=row.beats, version=row.version)


def _assignment_of(row: Row) -> Assignment:
    return replace(from_plain(Assignment, json.loads(unpacked(row.body))), version=row.version)
