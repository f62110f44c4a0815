"""Alerts in memory, the reference for every store of alerts."""

from collections.abc import Sequence

from anubis.contracts.alerts import TRAIL
from anubis.model.alert import Alert, AlertState
from anubis.model.delivery import Delivery
from anubis.model.errors import NotFoundError
from anubis.model.run import Event
from anubis.testing.memory_state import MemoryState


class FakeAlerts:
    """``Alerts`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf

    def put(
        self, alerts: Sequence[Alert], events: Sequence[Event], deliveries: Sequence[Delivery] = ()
    ) -> None:
        with self._shelf.lock:
            self._shelf.put_alerts(alerts)
            self._shelf.append(events)
            self._shelf.put_deliveries(deliveries)

    def get(self, alert_id: str) -> Alert:
        if alert_id in self._shelf.alerts:
            return self._shelf.alerts[alert_id]
        matches = [
            alert for alert in self._shelf.alerts.values() if alert_id and alert.id.startswith(alert_id)
        ]
        if len(matches) == 1:
            return matches[0]
        if not matches:
            raise NotFoundError(f"no alert has the id {alert_id}", remedy="look at the list of alerts")
        shown = ", ".join(sorted(alert.id for alert in matches))
        raise NotFoundError(f"several alerts begin with {alert_id}: {shown}", remedy="give more digits")

    def trail(self, alert_id: str) -> Sequence[Event]:
        events = self._shelf.events
        return [event for event in events if event.kind in TRAIL and event.data.get("alert") == alert_id]

    def find(
        self,
        *,
        states: Sequence[AlertState] = (),
        benchmark: str | None = None,
        series_key: str | None = None,
    ) -> Sequence[Alert]:
        matches = [
            alert
            for alert in self._shelf.alerts.values()
            if (not states or alert.state in states)
            and benchmark in {None, alert.benchmark}
            and (series_key is None or any(row.series_key == series_key for row in alert.rows))
        ]
        return sorted(matches, key=lambda alert: (-alert.opened_s, alert.id))
