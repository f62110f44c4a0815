"""What people decide about alerts, and that it is kept with who, when and why."""

from dataclasses import replace

import pytest

from anubis.judging import alert_triage
from anubis.judging.alert_triage import TriageAction
from anubis.model.alert import AlertState
from anubis.model.descriptor import Notify
from anubis.model.errors import BadInputError, NotFoundError
from anubis.pipeline.stages.alert import alert as alert_stage
from anubis.testing import a_descriptor, a_run
from anubis.testing.builders import NOW_S
from support.alerts import an_alert

#: Where each decision leads, and from which states.
WAYS = {
    TriageAction.ACK: (AlertState.ACKNOWLEDGED, "suspected confirmed muted"),
    TriageAction.ACCEPT: (AlertState.ACCEPTED, "suspected confirmed acknowledged muted"),
    TriageAction.MUTE: (AlertState.MUTED, "suspected confirmed acknowledged muted"),
    TriageAction.RESOLVE: (AlertState.RESOLVED, "suspected confirmed acknowledged muted"),
    TriageAction.REOPEN: (AlertState.CONFIRMED, "acknowledged accepted muted resolved"),
}
CASES = [
    (state, ruling, after if state.value in starts.split() else None)
    for ruling, (after, starts) in WAYS.items()
    for state in AlertState
]


@pytest.fixture
def stored(house):
    """Stores a run whose team is notified, and an alert about it."""

    def store(**changes):
        run = a_run(replace(a_descriptor("bench"), notify=(Notify(to="mailto:team@example.org"),)))
        house.runs.add([(run, "text")], [])
        alert = an_alert(run_id=run.id, **changes)
        house.store.alerts.put([alert], [])
        return house.store.alerts.get(alert.id)

    return store


def decide(house, alert, ruling, **changes):
    until_s = NOW_S + 3600 if ruling is TriageAction.MUTE else None
    given = {"actor": "me", "why": "because", "until_s": until_s, **changes}
    return alert_triage.triage(house.world, alert.id, ruling, **given)


@pytest.mark.parametrize(("state", "ruling", "after"), CASES)
def test_every_decision_leads_somewhere_or_is_refused(house, stored, state, ruling, after):
    alert = stored(state=state, muted_until_s=NOW_S + 60 if state is AlertState.MUTED else None)
    if after is None:
        with pytest.raises(BadInputError, match=state.value):
            decide(house, alert, ruling)
        assert alert_triage.get(house.world, alert.id) == (alert, [])
        return
    now = decide(house, alert, ruling)
    found, (event,) = alert_triage.get(house.world, alert.id)
    assert found == now
    assert (now.state, now.actor, now.why, now.changed_s) == (after, "me", "because", NOW_S)
    assert (event.kind, event.actor, event.time_s) == ("alert", "me", NOW_S)
    assert "because" in event.message


@pytest.mark.parametrize("why", ["", "  \n"])
def test_a_decision_needs_a_reason(house, stored, why):
    with pytest.raises(BadInputError, match="reason"):
        decide(house, stored(), TriageAction.ACCEPT, why=why)


@pytest.mark.parametrize("until_s", [None, NOW_S - 1, NOW_S])
def test_a_muting_needs_an_end(house, stored, until_s):
    with pytest.raises(BadInputError, match="end"):
        decide(house, stored(), TriageAction.MUTE, until_s=until_s)


def test_only_a_muting_has_an_end(house, stored):
    with pytest.raises(BadInputError, match="end"):
        decide(house, stored(), TriageAction.ACK, until_s=NOW_S + 1)


def test_a_muting_ends_by_itself(house, stored):
    alert = decide(house, stored(), TriageAction.MUTE)
    assert [one.state for one in alert_triage.find(house.world)] == [AlertState.MUTED]
    house.clock.advance(3600.0)
    (after,) = alert_triage.find(house.world, states=(AlertState.CONFIRMED,))
    assert (after.id, after.actor, after.muted_until_s) == (alert.id, "", None)
    assert decide(house, alert, TriageAction.ACK).state is AlertState.ACKNOWLEDGED


def test_the_next_run_tells_that_a_muting_is_over(house, stored):
    alert = stored(benchmark="bench", told=AlertState.CONFIRMED)
    decide(house, alert, TriageAction.MUTE)
    house.clock.advance(3600.0)
    step = alert_stage(house.runs.get(alert.run_id), house.world)
    (after,), (told, _final), (delivery,) = step.alerts, step.events, step.deliveries
    assert (after.state, after.told, after.actor) == (AlertState.CONFIRMED, AlertState.CONFIRMED, "")
    assert (delivery.to, delivery.state) == ("mailto:team@example.org", AlertState.CONFIRMED)
    assert "the mute time has passed" in told.message


def test_those_who_were_told_hear_of_the_decision(house, stored):
    alert = stored(told=AlertState.CONFIRMED)
    after = decide(house, alert, TriageAction.ACCEPT)
    (delivery,) = house.store.deliveries.of(alert.id)
    assert (delivery.to, delivery.state) == ("mailto:team@example.org", AlertState.ACCEPTED)
    assert after.told is AlertState.ACCEPTED


class AnotherWriter:
    """Stored alerts that another writer changes once, just before they are written."""

    def __init__(self, alerts, change):
        self.alerts, self.change = alerts, change

    def put(self, alerts, events, deliveries=()):
        if self.change:
            change, self.change = self.change, None
            self.alerts.put([replace(self.alerts.get(alerts[0].id), **change)], [])
        self.alerts.put(alerts, events, deliveries)

    def __getattr__(self, name):
        return getattr(self.alerts, name)


def test_a_decision_keeps_what_another_writer_stored_in_between(house, stored):
    alert = stored()
    house.world = replace(
        house.world, alerts=AnotherWriter(house.store.alerts, {"told": AlertState.CONFIRMED})
    )
    after = decide(house, alert, TriageAction.ACK)
    assert (after.state, after.told, after.version) == (
        AlertState.ACKNOWLEDGED,
        AlertState.ACKNOWLEDGED,
        3,
    )
    assert [each.state for each in house.store.deliveries.of(alert.id)] == [AlertState.ACKNOWLEDGED]


def test_a_decision_that_another_writer_made_first_is_refused(house, stored):
    alert = stored()
    other = AnotherWriter(house.store.alerts, {"state": AlertState.RESOLVED, "actor": "you"})
    house.world = replace(house.world, alerts=other)
    with pytest.raises(BadInputError, match="resolved"):
        decide(house, alert, TriageAction.ACK)
    assert house.store.alerts.get(alert.id).actor == "you"


def test_those_who_were_told_nothing_hear_nothing(house, stored):
    alert = stored(told=None)
    decide(house, alert, TriageAction.RESOLVE)
    assert house.store.deliveries.of(alert.id) == []


def test_no_alert_of_that_name(house):
    with pytest.raises(NotFoundError):
        alert_triage.triage(house.world, "beef", TriageAction.ACK, actor="me", why="x")
