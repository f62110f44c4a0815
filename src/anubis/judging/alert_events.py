"""The event that records the state of an alert, and the deliveries that follow from it."""

from dataclasses import replace

from anubis.judging.confirmation import subscriptions
from anubis.model.alert import Alert, AlertKind, AlertState
from anubis.model.delivery import Delivery
from anubis.model.run import Event, Run


def alert_event(run: Run, alert: Alert, now_s: float) -> Event:
    """The event that records the current state of the alert."""
    message = f"{alert.kind} {alert.state}" + (f": {alert.why}" if alert.why else "")
    data = {"alert": alert.id, "state": alert.state}
    return Event(run_id=run.id, kind="alert", time_s=now_s, message=message, data=data, actor=alert.actor)


def deliveries_of(run: Run, alert: Alert, now_s: float) -> list[Delivery]:
    """A delivery of the alert for each address to which the descriptor of this run sends its current state."""
    about = replace(alert, kind=AlertKind.RECOVERY) if alert.state is AlertState.RESOLVED else alert
    return [
        Delivery(alert_id=alert.id, state=alert.state, to=to, run_id=run.id, created_s=now_s, due_s=now_s)
        for to in dict.fromkeys(notify.to for notify in subscriptions(run, about))
    ]
