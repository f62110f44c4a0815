"""Statements about triggers. ``compile`` turns them into the SQL of each database."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Executable, delete, literal_column, select

from anubis.store.sql.queries import given
from anubis.store.sql.schema import trigger_deliveries, triggers


def statements(upsert: Callable[..., Any]) -> dict[str, Executable]:
    """By name. ``upsert``: the insert of a dialect that knows ON CONFLICT."""
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
