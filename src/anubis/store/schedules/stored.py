"""Schedules and what happened to their due times."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from anubis.contracts.schedules import QUEUE_LOOK_S, Decision, DueTime, Schedule
from anubis.model.errors import ConflictError, NotFoundError
from anubis.model.run import longest_lease_s
from anubis.store.adding import adding
from anubis.store.dictionaries import Dictionaries
from anubis.store.rows import id_bytes
from anubis.store.schedules.rows import due_time_of, due_time_values, schedule_of, schedule_values
from anubis.store.sql.database import Database, Row, Session
from anubis.store.text import clean, packed, unpacked

_ID_DIGITS = 32
_PREFIX = re.compile(rf"[0-9a-f]{{1,{_ID_DIGITS}}}")
#: Maximum number of candidates of an ambiguous prefix in a message.
_CANDIDATES = 5


class StoredSchedules:
    """``Schedules`` (see the contract) in a database."""

    def __init__(
        self, database: Database, dictionaries: Dictionaries, within: Sequence[str] | None = None
    ) -> None:
        """``within``: names of the projects whose schedules exist for the caller; None: all."""
        self._within = within
        self._database = database
        self._dictionaries = dictionaries

    def add(self, schedule: Schedule, text: str) -> Schedule:
        after = replace(schedule, version=1)
        values = {**schedule_values(after), "text": packed(text)}
        if not self._database.transact(lambda session: session.rows("add_schedule", **values)):
            raise ConflictError(f"there is a schedule {schedule.name} already", remedy="try again")
        return after

    def change(self, decision: Decision, *, text: str | None = None) -> Schedule:
        after = decision.after
        statement = "change_schedule" if text is None else "change_schedule_text"
        values = {**schedule_values(after), "expected": after.version}
        if text is not None:
            values["text"] = packed(text)
        write = self._writing(decision)

        def work(session: Session) -> None:
            rows = session.rows(statement, **values)
            if not rows:
                raise ConflictError(f"schedule {after.name} was changed meanwhile", remedy="try again")
            write(session, rows[0].no)

        self._database.transact(work)
        return replace(after, version=after.version + 1)

    def remove(self, schedule_id: str) -> None:
        self._database.write("remove_schedule", id=id_bytes(schedule_id))

    def get(self, ref: str) -> Schedule:
        named = self._visible(self._database.rows("schedules_named", name=clean(ref)))
        if exact := [each for each in named if each.full_name == ref]:
            return exact[0]
        if others := [each for each in named if each.name == ref]:
            return self._only(others, ref)
        digits = ref.replace("-", "").lower()
        rows = []
        if _PREFIX.fullmatch(digits):
            low, high = (bytes.fromhex(digits.ljust(_ID_DIGITS, filler)) for filler in "0f")
            rows = self._database.rows("schedules_between", low=low, high=high, most=_CANDIDATES + 1)
        found = self._visible(rows)
        if found:
            return self._only(found, ref)
        raise NotFoundError(f'no schedule is named "{ref}"', remedy="anubis schedule ls lists the schedules")

    @staticmethod
    def _only(found: Sequence[Schedule], ref: str) -> Schedule:
        if len(found) == 1:
            return found[0]
        shown = ", ".join(schedule.full_name for schedule in found[:_CANDIDATES])
        raise NotFoundError(
            f"several schedules are meant by {ref}: {shown}", remedy="write one of these names"
        )

    def find(self) -> Sequence[Schedule]:
        # Not sorted by the database, whose collation is unknown.
        found = self._visible(self._database.rows("schedules"))
        return sorted(found, key=lambda schedule: schedule.full_name)

    def _visible(self, rows: Sequence[Row]) -> list[Schedule]:
        found = map(schedule_of, rows)
        return [each for each in found if self._within is None or each.project in self._within]

    def text(self, schedule_id: str) -> str:
        rows = self._database.rows("schedule_text", id=id_bytes(schedule_id))
        if not rows:
            raise NotFoundError(f"no schedule has the id {schedule_id}")
        return unpacked(rows[0].text)

    def due_times(self, schedule_id: str, *, limit: int) -> Sequence[DueTime]:
        rows = self._database.rows("due_times", id=id_bytes(schedule_id), most=limit)
        return [due_time_of(schedule_id, row) for row in rows]

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Schedule]:
        claimed = self._database.lease(
            "claim_schedules",
            owner=owner,
            now_s=now_s,
            until_s=now_s + lease_s,
            latest_look_s=now_s + QUEUE_LOOK_S,
            latest_lease_s=now_s + longest_lease_s(lease_s),
            most=limit,
        )
        if not claimed:
            return []
        rows = self._database.rows("claimed_schedules", numbers=[row.no for row in claimed])
        return [schedule_of(row) for row in rows]

    def release(self, owner: str) -> None:
        self._database.lease("release_schedules", owner=owner)

    def owners(self) -> Sequence[str]:
        return sorted(row.holder for row in self._database.rows("schedule_owners"))

    def apply(self, owner: str, decisions: Sequence[Decision], *, forget_before_s: float) -> Sequence[str]:
        prepared = [(decision.after, self._writing(decision)) for decision in decisions]

        def work(session: Session) -> list[str]:
            written: list[str] = []
            for after, write in prepared:
                values = {**schedule_values(after), "expected": after.version, "owner": owner}
                for row in session.rows("apply_schedule", **values):
                    write(session, row.no)
                    session.write("forget_due_times", schedule=row.no, before_s=forget_before_s)
                    written.append(after.id)
            return written

        return self._database.transact(work)

    def next_ready_s(self) -> float | None:
        rows = self._database.rows("next_schedule")
        return rows[0].ready_s if rows else None

    def _writing(self, decision: Decision) -> Callable[[Session, int], None]:
        """What writes the due times, runs and events of a decision; everything slow happens before."""
        add = adding(self._dictionaries, decision.runs, events=decision.events)
        only_runs = {run.id for run, _ in decision.runs}
        rest = adding(
            self._dictionaries, (), events=[each for each in decision.events if each.run_id not in only_runs]
        )

        def write(session: Session, number: int) -> None:
            is_new = True
            for due in decision.due_times:
                noted = session.rows("note_due_time", **due_time_values(due, number))
                is_new = is_new and (bool(noted) or due.run_id is None)
            if decision.runs or decision.events:
                (add if is_new else rest)(session)

        return write
