"""What people decide about alerts, and how it is kept."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from anubis.contracts.runs import RunQuery
from anubis.contracts.world import World
from anubis.judging.alert_events import alert_event, deliveries_of
from anubis.judging.alert_rules import OPEN, awake
from anubis.model.alert import Alert, AlertState
from anubis.model.delivery import Delivery
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.run import Event, Run


class Ruling(StrEnum):
    """What may be decided; the words of the command line."""

    #: Somebody looks after it.
    ACK = "ack"
    #: The new level is meant: it is the baseline from now on.
    ACCEPT = "accept"
    #: Nobody is to be told until a time.
    MUTE = "mute"
    #: It is over, or never was: the same shift found again does not open it again.
    RESOLVE = "resolve"
    #: All of that was a mistake.
    REOPEN = "reopen"


_OPEN = frozenset(OPEN)
#: Ruling -> the state it leads to, and those it may start from.
_WAYS = {
    Ruling.ACK: (AlertState.ACKNOWLEDGED, _OPEN - {AlertState.ACKNOWLEDGED}),
    Ruling.ACCEPT: (AlertState.ACCEPTED, _OPEN),
    Ruling.MUTE: (AlertState.MUTED, _OPEN),
    Ruling.RESOLVE: (AlertState.RESOLVED, _OPEN),
    Ruling.REOPEN: (
        AlertState.CONFIRMED,
        frozenset(AlertState) - {AlertState.CONFIRMED, AlertState.SUSPECTED},
    ),
}


def ruled(
    alert: Alert, ruling: Ruling, *, now_s: float, actor: str, why: str, until_s: float | None = None
) -> Alert:
    """The alert after the decision. ``until_s`` is when a muting ends; UTC seconds.

    Raises BadInputError for a decision that the alert's state does not allow, without a reason, and for a muting
    without an end.
    """
    state, starts = _WAYS[ruling]
    if alert.state not in starts:
        remedy = "reopen it first" if Ruling.REOPEN is not ruling else "look at it with anubis alerts show"
        raise BadInputError(f"alert {alert.id} is {alert.state}, so {ruling} means nothing", remedy=remedy)
    if not why.strip():
        raise BadInputError("the decision has no reason", remedy="say why, for those who look at it later")
    if (ruling is Ruling.MUTE) != (until_s is not None) or (until_s is not None and until_s <= now_s):
        raise BadInputError(
            "a muting needs an end in the future, and nothing else has one",
            remedy="mute it with an end such as 7d",
        )
    return replace(alert, state=state, changed_s=now_s, actor=actor, why=why.strip(), muted_until_s=until_s)


def find(world: World, *, states: Sequence[AlertState] = (), benchmark: str | None = None) -> list[Alert]:
    """Alerts as they are at this moment, newest first."""
    now_s = world.clock.now_s()
    found = [awake(alert, now_s) for alert in world.alerts.find(benchmark=benchmark)]
    return [alert for alert in found if not states or alert.state in states]


def get(world: World, alert_id: str) -> tuple[Alert, Sequence[Event]]:
    """An alert by id or unique prefix, as it is at this moment, and every event that tells of it."""
    alert = awake(world.alerts.get(alert_id), world.clock.now_s())
    return alert, world.alerts.trail(alert.id)


def run_of(alert: Alert, world: World) -> Run:
    """The run whose timeline tells of the alert: its own, or the newest of the benchmark when that was purged.

    Raises NotFoundError when there is none.
    """
    try:
        return world.runs.get(alert.run_id)
    except NotFoundError:
        rows = world.runs.find(RunQuery(name=alert.benchmark, limit=1))
        if not rows:
            raise
        return world.runs.get(rows[0].id)


def rule(
    world: World, alert_id: str, ruling: Ruling, *, actor: str, why: str, until_s: float | None = None
) -> Alert:
    """Decide about an alert: it and the event that says who, when and why are stored together.

    Those who were told of the alert hear of the decision. Raises NotFoundError and what ``ruled`` raises.
    """
    now_s = world.clock.now_s()
    alert = awake(world.alerts.get(alert_id), now_s)
    after = ruled(alert, ruling, now_s=now_s, actor=actor, why=why, until_s=until_s)
    to: list[Delivery] = []
    run = run_of(alert, world)
    if alert.told is not None and (to := deliveries_of(run, after, now_s)):
        after = replace(after, told=after.state)
    world.alerts.put([after], [alert_event(run, after, now_s)], to)
    return after
