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
    """Stores a run whose team is told, and an alert about it."""

    def store(**changes):
        run = a_run(replace(a_descriptor("bench"), notify=(Notify(to="mailto:team@example.org"),)))
        house.runs.add([(run, "text")], [])
        alert = an_alert(run_id=run.id, **changes)
        house.store.alerts.put([alert], [])
        return alert

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
    (after,), (told, _final) = step.alerts, step.events
    assert (after.state, after.told, after.actor) == (AlertState.CONFIRMED, AlertState.CONFIRMED, "")
    assert told.data["to"] == ["mailto:team@example.org"]
    assert "the mute time has passed" in told.message


def test_those_who_were_told_hear_of_the_decision(house, stored):
    alert = stored(told=AlertState.CONFIRMED)
    after = decide(house, alert, TriageAction.ACCEPT)
    _, (event,) = alert_triage.get(house.world, alert.id)
    assert event.data["to"] == ["mailto:team@example.org"]
    assert after.told is AlertState.ACCEPTED


def test_those_who_were_told_nothing_hear_nothing(house, stored):
    alert = stored(told=None)
    decide(house, alert, TriageAction.RESOLVE)
    _, (event,) = alert_triage.get(house.world, alert.id)
    assert "to" not in event.data


def test_no_alert_of_that_name(house):
    with pytest.raises(NotFoundError):
        alert_triage.triage(house.world, "beef", TriageAction.ACK, actor="me", why="x")
