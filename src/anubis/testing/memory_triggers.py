"""Triggers in memory, the reference for every store of triggers."""

from collections.abc import Sequence

from anubis.contracts.service.triggers import DeliveryState, Trigger, TriggerDelivery
from anubis.model.errors import ConflictError, NotFoundError


class FakeTriggers:
    """``Triggers`` in memory."""

    def __init__(self) -> None:
        self._triggers: dict[str, Trigger] = {}
        self._deliveries: dict[tuple[str, str], TriggerDelivery] = {}

    def add(self, trigger: Trigger) -> None:
        if trigger.full_name in self._triggers:
            raise ConflictError(f"there is a trigger {trigger.name} already")
        self._triggers[trigger.full_name] = trigger

    def get(self, name: str) -> Trigger:
        if name not in self._triggers:
            raise NotFoundError(f"there is no trigger {name}")
        return self._triggers[name]

    def find(self) -> Sequence[Trigger]:
        return [self._triggers[name] for name in sorted(self._triggers)]

    def remove(self, name: str) -> None:
        self._triggers.pop(name, None)
        self._deliveries = {key: each for key, each in self._deliveries.items() if key[0] != name}

    def note(self, delivery: TriggerDelivery, *, forget_before_s: float) -> TriggerDelivery:
        self.get(delivery.trigger)
        self._deliveries = {
            key: each
            for key, each in self._deliveries.items()
            if key[0] != delivery.trigger or each.received_s >= forget_before_s
        }
        key = (delivery.trigger, delivery.id)
        before = self._deliveries.get(key)
        if before is None or before.state is DeliveryState.FAILED:
            self._deliveries[key] = delivery
        return self._deliveries[key]

    def delivery(self, trigger: str, delivery_id: str) -> TriggerDelivery | None:
        return self._deliveries.get((trigger, delivery_id))

    def deliveries(self, trigger: str, *, limit: int) -> Sequence[TriggerDelivery]:
        found = [each for (name, _), each in self._deliveries.items() if name == trigger]
        return sorted(found, key=lambda each: (-each.received_s, each.id))[:limit]
