"""Alerts of a service."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from anubis.api.alerts import alert_from_json, delivery_from_json
from anubis.api.runs import event_from_json
from anubis.client.protocol import judging as protocol
from anubis.client.remote.connection import ServiceConnection
from anubis.model.alert import Alert, AlertState
from anubis.model.delivery import Delivery
from anubis.model.run import Event

if TYPE_CHECKING:
    from anubis.judging.alert_triage import TriageAction


class Alerts(protocol.Alerts):
    """``Alerts`` (see the protocol) over HTTP. The addresses of deliveries are redacted."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def find(self, *, states: Sequence[AlertState] = (), benchmark: str | None = None) -> Sequence[Alert]:
        params = [("state", state.value) for state in states]
        params += [("benchmark", benchmark)] if benchmark is not None else []
        return list(map(alert_from_json, self._connection.get("alerts", params)["alerts"]))

    def get(self, alert_id: str) -> tuple[Alert, Sequence[Event]]:
        plain = self._connection.get(f"alerts/{quote(alert_id, safe='')}")
        events = [event_from_json(each["run_id"], each) for each in plain["events"]]
        return alert_from_json(plain["alert"]), events

    def deliveries(self, alert_id: str) -> Sequence[Delivery]:
        plain = self._connection.get(f"alerts/{quote(alert_id, safe='')}/deliveries")
        return list(map(delivery_from_json, plain["deliveries"]))

    def decide(
        self, alert_id: str, decision: "TriageAction", *, why: str, until_s: float | None = None
    ) -> Alert:
        body = {"decision": decision.value, "why": why, "until_s": until_s}
        return alert_from_json(self._connection.post(f"alerts/{quote(alert_id, safe='')}/decisions", body))
