"""Alerts in memory: what every real store has to agree with."""

from collections.abc import Mapping, Sequence

from anubis.model.alert import Alert, AlertState
from anubis.model.errors import NotFoundError
from anubis.model.run import Event
from anubis.testing.memory_state import MemoryState


class FakeAlerts:
    """``Alerts`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf

    def put(self, alerts: Sequence[Alert], events: Sequence[Event]) -> None:
        with self._shelf.lock:
            self._shelf.alerts |= {alert.id: alert for alert in alerts}
            self._shelf.append(events)

    def get(self, alert_id: str) -> Alert:
        if alert_id in self._shelf.alerts:
            return self._shelf.alerts[alert_id]
        found = [alert for alert in self._shelf.alerts.values() if alert_id and alert.id.startswith(alert_id)]
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFoundError(f"no alert has the id {alert_id}", remedy="look at the list of alerts")
        shown = ", ".join(sorted(alert.id for alert in found))
        raise NotFoundError(f"several alerts begin with {alert_id}: {shown}", remedy="give more digits")

    def trail(self, alert_id: str) -> Sequence[Event]:
        events = self._shelf.events
        return [event for event in events if event.kind == "alert" and event.data.get("alert") == alert_id]

    def find(
        self,
        *,
        states: Sequence[AlertState] = (),
        benchmark: str | None = None,
        series_key: str | None = None,
    ) -> Sequence[Alert]:
        found = [
            alert
            for alert in self._shelf.alerts.values()
            if (not states or alert.state in states)
            and benchmark in {None, alert.benchmark}
            and (series_key is None or any(row.series_key == series_key for row in alert.rows))
        ]
        return sorted(found, key=lambda alert: (-alert.opened_s, alert.id))


class FakeCursors:
    """``Cursors`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf

    def all(self, prefix: str) -> Mapping[str, int]:
        return {name: seq for name, seq in self._shelf.cursors.items() if name.startswith(prefix)}

    def advance(self, name: str, seq: int) -> None:
        with self._shelf.lock:
            self._shelf.cursors[name] = max(seq, self._shelf.cursors.get(name, seq))
