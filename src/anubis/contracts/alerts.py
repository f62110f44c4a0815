"""Alerts, and how far each receiver of events has come."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from anubis.model.alert import Alert, AlertState
from anubis.model.run import Event


class Alerts(Protocol):
    """Alerts as they stand; their history is events."""

    def put(self, alerts: Sequence[Alert], events: Sequence[Event]) -> None:
        """Insert or replace by alert id, with the events that tell of it, in one transaction."""
        ...

    def get(self, alert_id: str) -> Alert:
        """By id or unique prefix; NotFoundError."""
        ...

    def trail(self, alert_id: str) -> Sequence[Event]:
        """Every event that tells of this alert (``data["alert"]`` is its full id), in order."""
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


class Cursors(Protocol):
    """How far each receiver of events has come."""

    def all(self, prefix: str) -> Mapping[str, int]:
        """Receiver -> last event delivered, of the receivers whose names start so."""
        ...

    def advance(self, name: str, seq: int) -> None:
        """Everything up to ``seq`` was delivered, or is not for this receiver; never goes back."""
        ...
