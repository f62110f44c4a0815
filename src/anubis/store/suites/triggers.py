"""Triggers and their reports in a database."""

import json
from collections.abc import Sequence
from typing import Any

from anubis.contracts.service.triggers import DeliveryState, Trigger, TriggerDelivery
from anubis.model.errors import ConflictError, NotFoundError
from anubis.model.plain import from_plain, to_plain
from anubis.store.sql.database import Database, Row, Session
from anubis.store.text import clean, json_text, packed, unpacked


class StoredTriggers:
    """``Triggers`` (see the contract) in a database."""

    def __init__(self, database: Database, within: Sequence[str] | None = None) -> None:
        """``within``: names of the projects whose triggers exist for the caller; None: all."""
        self._database = database
        self._within = within

    def add(self, trigger: Trigger) -> None:
        values = {"name": clean(trigger.full_name), "body": packed(json_text(to_plain(trigger)))}
        if not self._database.transact(lambda session: session.rows("add_trigger", **values)):
            raise ConflictError(
                f"there is a trigger {trigger.name} already",
                remedy=f"choose another name, or delete it: anubis trigger delete {trigger.name}",
            )

    def get(self, name: str) -> Trigger:
        found = self._visible(self._database.rows("trigger", name=clean(name)))
        if not found:
            raise _unknown(name)
        return found[0]

    def find(self) -> Sequence[Trigger]:
        found = self._visible(self._database.rows("triggers"))
        return sorted(found, key=lambda each: each.full_name)

    def _visible(self, rows: Sequence[Row]) -> list[Trigger]:
        found = map(_trigger_of, rows)
        return [each for each in found if self._within is None or each.project in self._within]

    def remove(self, name: str) -> None:
        self._database.transact(lambda session: session.write("remove_trigger", name=clean(name)))

    def note(self, delivery: TriggerDelivery, *, forget_before_s: float) -> TriggerDelivery:
        key = {"trigger": clean(delivery.trigger), "delivery": clean(delivery.id)}
        values = {
            **key,
            "received_s": delivery.received_s,
            "failed": int(delivery.state is DeliveryState.FAILED),
            "body": packed(json_text(to_plain(delivery))),
        }

        def work(session: Session) -> TriggerDelivery:
            if not session.rows("trigger", name=key["trigger"]):
                raise _unknown(delivery.trigger)
            session.write("forget_trigger_deliveries", trigger=key["trigger"], before_s=forget_before_s)
            session.write("note_trigger_delivery", **values)
            return _delivery_of(session.rows("trigger_delivery", **key)[0])

        return self._database.transact(work)

    def delivery(self, trigger: str, delivery_id: str) -> TriggerDelivery | None:
        rows = self._database.rows("trigger_delivery", trigger=clean(trigger), delivery=clean(delivery_id))
        return next(map(_delivery_of, rows), None)

    def deliveries(self, trigger: str, *, limit: int) -> Sequence[TriggerDelivery]:
        rows = self._database.rows("trigger_deliveries", trigger=clean(trigger), most=limit)
        return list(map(_delivery_of, rows))


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(f"there is no trigger {name}", remedy="anubis trigger list shows all")


def _trigger_of(row: Row) -> Trigger:
    plain: Any = json.loads(unpacked(row.body))
    return from_plain(Trigger, plain)


def _delivery_of(row: Row) -> TriggerDelivery:
    plain: Any = json.loads(unpacked(row.body))
    return from_plain(TriggerDelivery, plain)
