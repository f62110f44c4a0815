"""Statements about schedules and their due times. ``compile`` turns them into the SQL of each database."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    and_,
    delete,
    literal_column,
    null,
    or_,
    select,
    update,
)

from anubis.store.sql.codes import QUEUED
from anubis.store.sql.queries import among, given
from anubis.store.sql.schema import due_times, schedules

_queued: ColumnElement[int] = literal_column(str(QUEUED))
_rows = select(schedules.c.no, schedules.c.body, schedules.c.version)
_is_ready = schedules.c.ready_s.is_not(None)


def statements(upsert: Callable[..., Any]) -> dict[str, Executable]:
    """By name. ``upsert``: the insert of a dialect that knows ON CONFLICT."""
    return _schedules(upsert) | _due_times(upsert) | _leases()


def _schedules(upsert: Callable[..., Any]) -> dict[str, Executable]:
    state = ("name", "body", "ready_s", "queued")
    changed = {name: given(name) for name in state} | {
        "version": schedules.c.version + literal_column("1"),
        "holder": null(),
        "until_s": null(),
    }
    this = and_(schedules.c.id == given("id"), schedules.c.version == given("expected"))
    change = update(schedules).where(this)
    return {
        "add_schedule": upsert(schedules)
        .values({name: given(name) for name in ("id", *state, "text")} | {"version": literal_column("1")})
        .on_conflict_do_nothing()
        .returning(schedules.c.no),
        "change_schedule": change.values(changed).returning(schedules.c.no),
        "change_schedule_text": change.values(changed | {"text": given("text")}).returning(schedules.c.no),
        "apply_schedule": update(schedules)
        .where(this, schedules.c.holder == given("owner"))
        .values(changed)
        .returning(schedules.c.no),
        "remove_schedule": delete(schedules).where(schedules.c.id == given("id")),
        # Those of other projects have the name of the project before them.
        "schedules_named": _rows.where(
            or_(
                schedules.c.name == given("name"),
                schedules.c.name.like(literal_column("'%:'").concat(given("name"))),
            )
        ),
        "schedules_between": _rows.where(schedules.c.id.between(given("low"), given("high")))
        .order_by(schedules.c.id)
        .limit(given("most")),
        "schedules": _rows.order_by(schedules.c.name),
        "schedule_text": select(schedules.c.text).where(schedules.c.id == given("id")),
    }


def _due_times(upsert: Callable[..., Any]) -> dict[str, Executable]:
    columns = [column.name for column in due_times.c]
    new = upsert(due_times).values({name: given(name) for name in columns})
    outcome = {name: new.excluded[name] for name in columns if name not in {"schedule", "due_s"}}
    return {
        "note_due_time": new.on_conflict_do_update(
            index_elements=[due_times.c.schedule, due_times.c.due_s],
            set_=outcome,
            where=due_times.c.state == _queued,
        ).returning(due_times.c.state),
        "due_times": select(due_times)
        .join_from(due_times, schedules, schedules.c.no == due_times.c.schedule)
        .where(schedules.c.id == given("id"))
        .order_by(due_times.c.due_s.desc())
        .limit(given("most")),
        "forget_due_times": delete(due_times).where(
            due_times.c.schedule == given("schedule"),
            due_times.c.due_s < given("before_s"),
            due_times.c.state != _queued,
        ),
    }


def _leases() -> dict[str, Executable]:
    held = schedules.c.holder == given("owner")
    ready = (
        select(schedules.c.no)
        .where(
            _is_ready,
            or_(
                schedules.c.ready_s <= given("now_s"),
                and_(schedules.c.ready_s > given("latest_look_s"), schedules.c.queued > literal_column("0")),
            ),
            or_(
                schedules.c.until_s.is_(None),
                schedules.c.until_s <= given("now_s"),
                schedules.c.until_s > given("latest_lease_s"),
            ),
        )
        .order_by(schedules.c.ready_s, schedules.c.no)
        .limit(given("most"))
        .with_for_update(skip_locked=True)
        .cte("ready")
    )
    return {
        "claim_schedules": update(schedules)
        .where(schedules.c.no.in_(select(ready.c.no)))
        .values(holder=given("owner"), until_s=given("until_s"))
        .returning(schedules.c.no),
        "claimed_schedules": _rows.where(among(schedules.c.no, "numbers")).order_by(
            schedules.c.ready_s, schedules.c.no
        ),
        "release_schedules": update(schedules)
        .where(held)
        .values(holder=null(), until_s=null())
        .returning(schedules.c.no),
        "schedule_owners": select(schedules.c.holder).where(schedules.c.holder.is_not(None)).distinct(),
        "next_schedule": select(schedules.c.ready_s)
        .where(_is_ready, schedules.c.holder.is_(None))
        .order_by(schedules.c.ready_s)
        .limit(literal_column("1")),
    }
