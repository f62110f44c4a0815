"""Decisions of people about alerts: checking, applying and storing them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum

from anubis.contracts.runs import RunQuery
from anubis.contracts.world import World
from anubis.judging.alert_events import alert_event, deliveries_of
from anubis.judging.alert_rules import OPEN, unmute_expired
from anubis.model.alert import Alert, AlertState
from anubis.model.delivery import Delivery
from anubis.model.errors import BadInputError, ConflictError, NotFoundError
from anubis.model.run import Event, Run


class TriageAction(StrEnum):
    """An action on an alert; the values are the names of the commands."""

    #: Someone works on it.
    ACK = "ack"
    #: The change is intended: the new level is the baseline from now on.
    ACCEPT = "accept"
    #: Send no notification until a given time.
    MUTE = "mute"
    #: The change is over or was a false alarm: detecting the same shift again does not reopen the alert.
    RESOLVE = "resolve"
    #: Undo an earlier decision.
    REOPEN = "reopen"


_OPEN = frozenset(OPEN)
#: Action -> the state after it, and the states in which it is allowed.
_TRANSITIONS = {
    TriageAction.ACK: (AlertState.ACKNOWLEDGED, _OPEN - {AlertState.ACKNOWLEDGED}),
    TriageAction.ACCEPT: (AlertState.ACCEPTED, _OPEN),
    TriageAction.MUTE: (AlertState.MUTED, _OPEN),
    TriageAction.RESOLVE: (AlertState.RESOLVED, _OPEN),
    TriageAction.REOPEN: (
        AlertState.CONFIRMED,
        frozenset(AlertState) - {AlertState.CONFIRMED, AlertState.SUSPECTED},
    ),
}


def triaged(
    alert: Alert, action: TriageAction, *, now_s: float, actor: str, why: str, until_s: float | None = None
) -> Alert:
    """The alert after the decision. ``until_s``: end of the mute time, UTC seconds.

    Raises BadInputError for a decision that the state of the alert does not allow, for a decision without a reason and
    for muting without an end.
    """
    state, allowed = _TRANSITIONS[action]
    if alert.state not in allowed:
        remedy = "reopen it first" if TriageAction.REOPEN is not action else "see anubis alerts show"
        raise BadInputError(f"cannot {action} alert {alert.id}: it is {alert.state}", remedy=remedy)
    if not why.strip():
        raise BadInputError("the decision has no reason", remedy="give a reason; it is stored with the alert")
    if (action is TriageAction.MUTE) != (until_s is not None) or (until_s is not None and until_s <= now_s):
        raise BadInputError(
            "muting needs an end in the future; the other actions take no end",
            remedy="mute the alert with an end such as 7d",
        )
    return replace(alert, state=state, changed_s=now_s, actor=actor, why=why.strip(), muted_until_s=until_s)


def find(world: World, *, states: Sequence[AlertState] = (), benchmark: str | None = None) -> list[Alert]:
    """Alerts in their current state, newest first."""
    now_s = world.clock.now_s()
    alerts = [unmute_expired(alert, now_s) for alert in world.alerts.find(benchmark=benchmark)]
    return [alert for alert in alerts if not states or alert.state in states]


def get(world: World, alert_id: str) -> tuple[Alert, Sequence[Event]]:
    """An alert by id or unique prefix, in its current state, with all its events."""
    alert = unmute_expired(world.alerts.get(alert_id), world.clock.now_s())
    return alert, world.alerts.trail(alert.id)


def run_of(alert: Alert, world: World) -> Run:
    """The run whose timeline holds the events of the alert: its own run, or the newest of the benchmark if that was purged.

    Raises NotFoundError if the benchmark has no run.
    """
    try:
        return world.runs.get(alert.run_id)
    except NotFoundError:
        rows = world.runs.find(RunQuery(name=alert.benchmark, limit=1))
        if not rows:
            raise
        return world.runs.get(rows[0].id)


def triage(
    world: World, alert_id: str, action: TriageAction, *, actor: str, why: str, until_s: float | None = None
) -> Alert:
    """Apply a decision to an alert and store it together with an event: actor, time and reason.

    If the alert was delivered before, the decision is delivered to the same addresses. The decision is checked again
    if another writer changes the alert at the same time. Raises NotFoundError and the errors of ``triaged``.
    """
    while True:
        now_s = world.clock.now_s()
        alert = unmute_expired(world.alerts.get(alert_id), now_s)
        after = triaged(alert, action, now_s=now_s, actor=actor, why=why, until_s=until_s)
        with suppress(ConflictError):
            _put(world, alert, after, now_s)
            return world.alerts.get(alert.id)


def _put(world: World, alert: Alert, after: Alert, now_s: float) -> None:
    """Store a decision with its event and deliveries."""
    to: list[Delivery] = []
    run = run_of(alert, world)
    if alert.told is not None and (to := deliveries_of(run, after, now_s)):
        after = replace(after, told=after.state)
    world.alerts.put([after], [alert_event(run, after, now_s)], to)
