"""Stored alerts."""

from collections.abc import Sequence
from typing import Protocol

from anubis.model.alert import Alert, AlertState
from anubis.model.delivery import Delivery
from anubis.model.run import Event

#: Kinds of the events about an alert: a change of its state, a delivery, a refused delivery.
TRAIL = ("alert", "delivered", "undelivered")


class Alerts(Protocol):
    """Alerts in their current state; their history is stored as events."""

    def put(
        self, alerts: Sequence[Alert], events: Sequence[Event], deliveries: Sequence[Delivery] = ()
    ) -> None:
        """Insert or replace by alert id, with their events and deliveries, in one transaction.

        The stored version of each alert must be its ``version``; storing increases it by one. Raises ConflictError and
        writes nothing if another writer stored one of the alerts in between.
        """
        ...

    def get(self, alert_id: str) -> Alert:
        """The alert with this id or unique prefix. Raises NotFoundError."""
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
        """The alerts that match every condition that is set, newest first."""
        ...
