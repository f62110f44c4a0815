"""Between schedules with their due times, and the rows that hold them."""

import json
from dataclasses import replace
from typing import Any

from anubis.contracts.schedules import DueTime, Schedule
from anubis.model.plain import from_plain, to_plain
from anubis.store.rows import id_bytes, id_text
from anubis.store.sql.codes import DUE_STATE_CODES, DUE_STATES
from anubis.store.sql.database import Row
from anubis.store.text import clean, json_text, packed, unpacked


def schedule_values(schedule: Schedule) -> dict[str, Any]:
    """Parameters of the statements that write a schedule."""
    return {
        "id": id_bytes(schedule.id),
        "name": clean(schedule.full_name),
        "body": packed(json_text(to_plain(replace(schedule, version=0)))),
        "ready_s": schedule.ready_s,
        "queued": len(schedule.queued),
    }


def schedule_of(row: Row) -> Schedule:
    """The schedule of a row."""
    return replace(from_plain(Schedule, json.loads(unpacked(row.body))), version=row.version)


def due_time_values(due: DueTime, schedule: int) -> dict[str, Any]:
    """Parameters of ``note_due_time``; ``schedule`` is the number of its row."""
    return {
        "schedule": schedule,
        "due_s": due.due_s,
        "state": DUE_STATE_CODES[due.state],
        "noted_s": due.noted_s,
        "run": None if due.run_id is None else id_bytes(due.run_id),
        "reason": clean(due.reason) or None,
        "count": due.count,
        "last_s": due.last_s,
    }


def due_time_of(schedule_id: str, row: Row) -> DueTime:
    """The due time of a row."""
    return DueTime(
        schedule_id=schedule_id,
        due_s=row.due_s,
        state=DUE_STATES[row.state],
        noted_s=row.noted_s,
        run_id=None if row.run is None else id_text(row.run),
        reason=row.reason or "",
        count=row.count,
        last_s=row.last_s,
    )
