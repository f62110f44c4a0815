"""Alerts of this installation."""

from collections.abc import Sequence

from anubis.client.embedded.workers import deliver
from anubis.client.protocol import judging as protocol
from anubis.judging import alert_triage
from anubis.model.alert import Alert, AlertState
from anubis.model.delivery import Delivery
from anubis.model.run import Event
from anubis.submission.person import person
from anubis.wiring import Installation


class Alerts(protocol.Alerts):
    """``Alerts`` (see the protocol) in the database of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._world = installation.world

    def find(self, *, states: Sequence[AlertState] = (), benchmark: str | None = None) -> Sequence[Alert]:
        return alert_triage.find(self._world, states=states, benchmark=benchmark)

    def get(self, alert_id: str) -> tuple[Alert, Sequence[Event]]:
        return alert_triage.get(self._world, alert_id)

    def deliveries(self, alert_id: str) -> Sequence[Delivery]:
        return self._world.deliveries.of(self._world.alerts.get(alert_id).id)

    def decide(
        self, alert_id: str, decision: alert_triage.TriageAction, *, why: str, until_s: float | None = None
    ) -> Alert:
        actor = person(self._installation.settings)
        alert = alert_triage.triage(self._world, alert_id, decision, actor=actor, why=why, until_s=until_s)
        deliver(self._installation)
        return alert
