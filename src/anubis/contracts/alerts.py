"""Alerts."""

from collections.abc import Sequence
from typing import Protocol

from anubis.model.alert import Alert, AlertState
from anubis.model.delivery import Delivery
from anubis.model.run import Event

#: Kinds of the events about an alert: a change of its state, a delivery, a refused delivery.
TRAIL = ("alert", "delivered", "undelivered")


class Alerts(Protocol):
    """Alerts as they are now; their history is events."""

    def put(
        self, alerts: Sequence[Alert], events: Sequence[Event], deliveries: Sequence[Delivery] = ()
    ) -> None:
        """Insert or replace by alert id, with their events and deliveries, in one transaction."""
        ...

    def get(self, alert_id: str) -> Alert:
        """By id or unique prefix; NotFoundError."""
        ...

    def trail(self, alert_id: str) -> Sequence[Event]:
        """The events of kind ``TRAIL`` about one alert (``data["alert"]`` is its full id), in order."""
        ...

    def find(
        self,
        *,
        states: Sequence[AlertState] = (),
        benchmark: str | None = None,
        series_key: str | None = None,
    ) -> Sequence[Alert]:
        """Newest first; every condition that is set must hold."""
        ...
