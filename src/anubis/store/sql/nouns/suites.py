"""Statements about sweeps and triggers. ``compile`` turns them into the SQL of each database."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Executable, delete, func, literal_column, select, update

from anubis.store.sql.queries import among, given
from anubis.store.sql.schema import sweeps, trigger_deliveries, triggers


def statements(upsert: Callable[..., Any]) -> dict[str, Executable]:
    """By name. ``upsert``: the insert of a dialect that knows ON CONFLICT."""
    return _sweeps(upsert) | _triggers(upsert)


def _sweeps(upsert: Callable[..., Any]) -> dict[str, Executable]:
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


def _triggers(upsert: Callable[..., Any]) -> dict[str, Executable]:
    this = (
        trigger_deliveries.c.trigger == given("trigger"),
        trigger_deliveries.c.delivery == given("delivery"),
    )
    noted = upsert(trigger_deliveries).values(
        {column.name: given(column.name) for column in trigger_deliveries.c}
    )
    return {
        "add_trigger": upsert(triggers)
        .values(name=given("name"), body=given("body"))
        .on_conflict_do_nothing()
        .returning(triggers.c.name),
        "trigger": select(triggers.c.body).where(triggers.c.name == given("name")),
        "triggers": select(triggers.c.body),
        "remove_trigger": delete(triggers).where(triggers.c.name == given("name")),
        "note_trigger_delivery": noted.on_conflict_do_update(
            index_elements=[trigger_deliveries.c.trigger, trigger_deliveries.c.delivery],
            set_={name: noted.excluded[name] for name in ("received_s", "failed", "body")},
            where=trigger_deliveries.c.failed == literal_column("1"),
        ),
        "trigger_delivery": select(trigger_deliveries.c.body).where(*this),
        "trigger_deliveries": select(trigger_deliveries.c.body)
        .where(trigger_deliveries.c.trigger == given("trigger"))
        .order_by(trigger_deliveries.c.received_s.desc(), trigger_deliveries.c.delivery)
        .limit(given("most")),
        "forget_trigger_deliveries": delete(trigger_deliveries).where(
            trigger_deliveries.c.trigger == given("trigger"),
            trigger_deliveries.c.received_s < given("before_s"),
        ),
    }
