"""Statements about sweeps. ``compile`` turns them into the SQL of each database."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Executable, delete, func, literal_column, select, update

from anubis.store.sql.queries import among, given
from anubis.store.sql.schema import sweeps


def statements(upsert: Callable[..., Any]) -> dict[str, Executable]:
    """By name. ``upsert``: the insert of a dialect that knows ON CONFLICT."""
    new = {column.name: given(column.name) for column in sweeps.c}
    changed = {name: given(name) for name in ("running", "body", "version")}
    prefix = func.substr(sweeps.c.id, literal_column("1"), func.length(given("prefix")))
    return {
        "put_sweep": upsert(sweeps).values(new).on_conflict_do_nothing().returning(sweeps.c.version),
        "change_sweep": update(sweeps)
        .where(sweeps.c.id == given("id"), sweeps.c.version == given("expected"))
        .values(changed)
        .returning(sweeps.c.version),
        "sweep": select(sweeps.c.id, sweeps.c.body)
        .where(prefix == given("prefix"))
        .order_by(sweeps.c.id)
        .limit(given("most")),
        "running_sweeps": select(sweeps.c.id, sweeps.c.version)
        .where(sweeps.c.running == literal_column("1"))
        .order_by(sweeps.c.id),
        "newest_sweeps": select(sweeps.c.body)
        .order_by(sweeps.c.created_s.desc(), sweeps.c.id)
        .limit(given("most")),
        "remove_sweeps": delete(sweeps)
        .where(among(sweeps.c.id, "ids"), sweeps.c.running == literal_column("0"))
        .returning(sweeps.c.id),
    }
