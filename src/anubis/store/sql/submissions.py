"""Statements about submissions with a key. ``compile`` turns them into the SQL of each database."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Executable, delete, select

from anubis.store.sql.queries import given
from anubis.store.sql.schema import event_count, submissions


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
    }
