"""Statements about submissions with a key, and runs that wait for others. ``compile`` turns them into the SQL of each database."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Executable, case, delete, literal_column, select, update

from anubis.store.sql.queries import given
from anubis.store.sql.schema import event_count, runs, submissions


def statements(upsert: Callable[..., Any]) -> dict[str, Executable]:
    """By name. ``upsert``: the insert of a dialect that knows ON CONFLICT."""
    new = {column.name: given(column.name) for column in submissions.c}
    return {
        "add_submission": upsert(submissions)
        .values(new)
        .on_conflict_do_nothing()
        .returning(submissions.c.key),
        "submission": select(submissions).where(submissions.c.key == given("key")),
        "forget_submissions": delete(submissions).where(submissions.c.created_s < given("before_s")),
        "last_event": select(event_count.c.seq),
        "wake_waiting": update(runs)
        .where(
            runs.c.phase == literal_column("'needs'"),
            runs.c.needs.contains(given("run_id"), autoescape=False),
        )
        .values(
            due_s=runs.c.created_s,
            ready_s=case((runs.c.holder.is_(None), runs.c.created_s), else_=runs.c.ready_s),
        ),
    }
