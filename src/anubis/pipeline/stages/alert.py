"""Stage alert: submit confirming runs, notify each address once, then the run is final."""

from dataclasses import replace

from anubis.contracts.world import World
from anubis.judging.alert_events import alert_event, deliveries_of
from anubis.judging.alert_rules import unmute_expired
from anubis.judging.confirmation import cause_of, confirming_runs
from anubis.model.alert import Alert, AlertState
from anubis.model.delivery import Delivery
from anubis.model.run import Event, Run, Step
from anubis.pipeline.conclusion import conclude


def alert(run: Run, world: World) -> Step:
    """The final step, with the notices and the confirming runs for the alerts of this run's benchmark."""
    now_s = world.clock.now_s()
    changed: list[Alert] = []
    events: list[Event] = []
    deliveries: list[Delivery] = []
    spawned: list[tuple[Run, str]] = []
    for before in world.alerts.find(benchmark=run.descriptor.info.name):
        current = unmute_expired(before, now_s)
        if before.state is AlertState.SUSPECTED and not before.ordered:
            order = confirming_runs(run, before, world)
            if order.runs:
                spawned += order.runs
                current = replace(before, ordered=True, rounds=before.rounds + 1, why=order.note)
                events += [alert_event(run, current, now_s)] if order.note else []
        if _needs_notice(current, now_s):
            current = replace(current, told=current.state)
            deliveries += deliveries_of(cause_of(run, world), current, now_s)
        if current.state is not before.state:
            events.append(alert_event(run, current, now_s))
        if current != before:
            changed.append(current)
    step = conclude(run, now_s, run.cause, run.reason, alerts=changed, events=events, spawned=spawned)
    return replace(step, deliveries=tuple(deliveries))


def _needs_notice(alert: Alert, now_s: float) -> bool:
    """Whether an alert is in a state that was not announced yet. One that was never announced needs no recovery notice."""
    if alert.muted_until_s is not None and now_s < alert.muted_until_s:
        return False
    if alert.state is AlertState.RESOLVED:
        return alert.told not in {None, AlertState.RESOLVED}
    return alert.state is AlertState.CONFIRMED and alert.told is not AlertState.CONFIRMED
