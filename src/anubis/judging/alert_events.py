"""The event that records the state of an alert, and the addresses that receive it."""

from collections.abc import Sequence
from dataclasses import replace

from anubis.judging.confirmation import subscriptions
from anubis.model.alert import Alert, AlertKind, AlertState
from anubis.model.run import Event, Run


def alert_event(run: Run, alert: Alert, now_s: float, to: Sequence[str] = ()) -> Event:
    """The event that records the current state of the alert; ``to`` are the addresses that must receive it."""
    recipients = f", sent to {len(to)} {'address' if len(to) == 1 else 'addresses'}" if to else ""
    message = f"{alert.kind} {alert.state}{recipients}" + (f": {alert.why}" if alert.why else "")
    data = {"alert": alert.id, "state": alert.state} | ({"to": list(to)} if to else {})
    return Event(run_id=run.id, kind="alert", time_s=now_s, message=message, data=data, actor=alert.actor)


def addresses(run: Run, alert: Alert) -> list[str]:
    """The addresses to which the descriptor of this run sends the alert in its current state."""
    delivered = replace(alert, kind=AlertKind.RECOVERY) if alert.state is AlertState.RESOLVED else alert
    return [notify.to for notify in subscriptions(run, delivered)]
