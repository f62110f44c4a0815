"""Everybody is told at least once, whoever else cannot be reached."""

import pytest

from anubis.model.alert import Alert, AlertKind, AlertState
from anubis.model.errors import NotifyError
from anubis.pipeline.relay import Relay
from anubis.testing import FakeClock, FakeStore, a_run, an_event


class Listener:
    schemes = frozenset({"mailto"})

    def __init__(self):
        self.told = []
        self.trouble = None

    def notify(self, to, alert):
        if self.trouble:
            raise self.trouble
        self.told.append((to, alert.id, alert.state))


def an_alert(number):
    return Alert(
        id=f"{number:016x}",
        benchmark="bench",
        kind=AlertKind.REGRESSION,
        state=AlertState.CONFIRMED,
        rows=(),
        run_id="run",
        last_old="a",
        first_new="b",
        opened_s=0.0,
        changed_s=0.0,
    )


@pytest.fixture
def office():
    class Office:
        store, clock, mail, chat = FakeStore(), FakeClock(), Listener(), Listener()
        run = a_run()

        def __init__(self):
            self.store.runs.add([(self.run, "text")], [])
            self.relay = self.new_relay()

        def new_relay(self):
            notifiers = {"mailto": self.mail, "slack": self.chat}
            return Relay(self.store.events, self.store.alerts, self.store.cursors, notifiers, self.clock)

        def raise_alert(self, number, *to):
            alert = an_alert(number)
            event = an_event(self.run, "alert", data={"alert": alert.id, "to": list(to)})
            self.store.alerts.put([alert], [event])

    return Office()


def test_every_address_is_told_once(office):
    office.raise_alert(1, "mailto:a@x", "slack:#perf")
    office.raise_alert(2, "mailto:a@x")

    assert office.relay.turn()
    office.relay.turn()
    office.new_relay().turn()

    assert [alert for _, alert, _ in office.mail.told] == [an_alert(1).id, an_alert(2).id]
    assert [to for to, _, _ in office.chat.told] == ["slack:#perf"]


def test_one_that_does_not_answer_holds_up_nobody_else_and_is_told_later(office):
    office.mail.trouble = NotifyError("no answer")
    office.raise_alert(1, "mailto:a@x", "slack:#perf")

    assert not office.relay.turn()
    assert office.chat.told
    office.mail.trouble = None
    assert not office.relay.turn()
    office.clock.advance(2.0)
    assert office.relay.turn()

    assert len(office.mail.told) == 1
    assert len(office.chat.told) == 1


def test_pauses_grow_and_obey_the_other_side(office):
    office.mail.trouble = NotifyError("slow down", again_after_s=50.0)
    office.raise_alert(1, "mailto:a@x")
    office.relay.turn()
    office.mail.trouble = None

    office.clock.advance(49.0)
    assert not office.relay.turn()
    office.clock.advance(2.0)
    assert office.relay.turn()


def test_a_new_relay_goes_on_where_the_old_one_failed(office):
    office.raise_alert(1, "mailto:a@x")
    office.raise_alert(2, "mailto:a@x")
    office.mail.trouble = NotifyError("no answer")
    office.relay.turn()
    office.mail.trouble = None

    assert office.new_relay().turn()

    assert [alert for _, alert, _ in office.mail.told] == [an_alert(1).id, an_alert(2).id]


def test_what_can_never_arrive_does_not_block_what_can(office):
    office.raise_alert(1, "pigeon:loft")
    office.mail.trouble = NotifyError("no such mailbox", permanent=True)
    office.raise_alert(2, "mailto:a@x")
    office.relay.turn()
    office.mail.trouble = None
    office.raise_alert(3, "mailto:a@x")

    assert office.relay.turn()

    assert [alert for _, alert, _ in office.mail.told] == [an_alert(3).id]
