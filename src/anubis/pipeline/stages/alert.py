"""Stage alert: confirm by running again, then tell each address once, then the run is final."""

from dataclasses import replace

from anubis.contracts.world import World
from anubis.judging.alert_events import addresses, alert_event
from anubis.judging.alert_rules import unmute_expired
from anubis.judging.confirmation import confirming_runs
from anubis.model.alert import Alert, AlertState
from anubis.model.run import Event, Run, Step
from anubis.pipeline.conclusion import conclude


def alert(run: Run, world: World) -> Step:
    """What there is to tell or to confirm about the alerts of this run's benchmark."""
    now_s = world.clock.now_s()
    changed: list[Alert] = []
    events: list[Event] = []
    spawned: list[tuple[Run, str]] = []
    for one in world.alerts.find(benchmark=run.descriptor.info.name):
        current = unmute_expired(one, now_s)
        if (
            one.state is AlertState.SUSPECTED
            and not one.ordered
            and (more := confirming_runs(run, one, world))
        ):
            spawned += more
            current = replace(one, ordered=True)
        if _is_untold(current, now_s):
            current = replace(current, told=current.state)
            to = addresses(run, current)
            if to or current.state is not one.state:
                events.append(alert_event(run, current, now_s, to))
        if current != one:
            changed.append(current)
    return conclude(run, now_s, run.cause, run.reason, alerts=changed, events=events, spawned=spawned)


def _is_untold(alert: Alert, now_s: float) -> bool:
    """Has it come to a state that people should hear of and have not? What was never told needs no end."""
    if alert.muted_until_s is not None and now_s < alert.muted_until_s:
        return False
    if alert.state is AlertState.RESOLVED:
        return alert.told not in {None, AlertState.RESOLVED}
    return alert.state is AlertState.CONFIRMED and alert.told is not AlertState.CONFIRMED
