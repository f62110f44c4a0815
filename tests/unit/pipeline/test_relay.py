"""Every delivery arrives at least once, even if other addresses cannot be reached."""

import logging
import threading
from dataclasses import replace

import pytest

from anubis.model.alert import Alert, AlertKind, AlertState
from anubis.model.delivery import Delivery, DeliveryStatus
from anubis.model.errors import NotifyError, PlugInError, StoreError
from anubis.pipeline.chores.delivering import AT_ONCE, SLOW_S
from anubis.pipeline.lease_owner import new_owner
from anubis.pipeline.relay import KEPT_S, Relay
from anubis.testing import FakeClock, FakeStore, a_run

MAIL = "mailto:a@x"


class Listener:
    schemes = frozenset({"mailto"})

    def __init__(self):
        self.told = []
        self.trouble = None
        self.seen = threading.Event()

    def notify(self, to, alert):
        if self.trouble:
            raise self.trouble
        self.told.append((to, alert.id, alert.state))
        self.seen.set()


class Stuck(Listener):
    """Answers only when it is let go."""

    def __init__(self):
        super().__init__()
        self.entered, self.let_go = threading.Event(), threading.Event()

    def notify(self, to, alert):
        self.entered.set()
        assert self.let_go.wait(60)
        super().notify(to, alert)


def an_alert(number, **changes):
    alert = Alert(
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
    return replace(alert, **changes)


@pytest.fixture
def office():
    class Office:
        store, clock, mail, chat = FakeStore(), FakeClock(), Listener(), Listener()
        run = a_run()

        def __init__(self):
            self.store.runs.add([(self.run, "text")], [])
            self.relay = self.new_relay()

        def new_relay(self, **changes):
            notifiers = {"mailto": self.mail, "slack": self.chat} | changes.pop("notifiers", {})
            return Relay(self.store.deliveries, self.store.alerts, notifiers, self.clock, **changes)

        def raise_alert(self, number, *to, state=AlertState.CONFIRMED):
            versions = {each.id: each.version for each in self.store.alerts.find()}
            alert, now_s = an_alert(number, state=state), self.clock.now_s()
            alert = replace(alert, version=versions.get(alert.id, 0))
            fields = {"alert_id": alert.id, "state": state, "run_id": self.run.id}
            self.store.alerts.put(
                [alert], [], [Delivery(to=each, created_s=now_s, due_s=now_s, **fields) for each in to]
            )

        def events(self):
            return self.store.events.read(self.run.id)

    return Office()


def test_every_address_gets_it_once(office):
    office.raise_alert(1, MAIL, "slack:#perf")
    office.raise_alert(2, MAIL)

    assert office.relay.turn() is None
    office.relay.turn()
    office.new_relay().turn()

    assert [alert for _, alert, _ in office.mail.told] == [an_alert(1).id, an_alert(2).id]
    assert [to for to, _, _ in office.chat.told] == ["slack:#perf"]


def test_a_delivery_is_recorded_after_the_fact(office):
    office.raise_alert(1, MAIL)
    assert office.events() == []

    office.relay.turn()

    (event,) = office.events()
    assert (event.kind, event.message) == ("delivered", "confirmed delivered to mailto:a…@x")
    assert event.data == {
        "alert": an_alert(1).id,
        "state": "confirmed",
        "to": "mailto:a…@x",
        "attempts": 1,
    }
    (delivery,) = office.store.deliveries.of(an_alert(1).id)
    assert (delivery.status, delivery.attempts, delivery.ended_s) == (
        DeliveryStatus.DELIVERED,
        1,
        office.clock.now_s(),
    )


def test_one_that_does_not_answer_delays_no_other_and_gets_it_later(office):
    office.mail.trouble = NotifyError("no answer")
    office.raise_alert(1, MAIL, "slack:#perf")

    assert office.relay.turn() == 1.0
    assert office.chat.told
    office.mail.trouble = None
    assert office.relay.turn() == 1.0
    office.clock.advance(1.0)
    assert office.relay.turn() is None

    assert len(office.mail.told) == 1
    assert len(office.chat.told) == 1
    assert [event.message for event in office.events() if "mailto" in event.message] == [
        "confirmed delivered to mailto:a…@x after 2 attempts"
    ]


def test_a_receiver_that_hangs_delays_no_other(office):
    stuck = Stuck()
    office.raise_alert(1, "stuck:1", MAIL)
    relay = office.new_relay(notifiers={"stuck": stuck})
    turn = threading.Thread(target=relay.turn)
    turn.start()
    assert stuck.entered.wait(60)

    office.raise_alert(2, "slack:#perf")
    office.new_relay().turn()  # the other addresses are served, by another relay too
    assert office.mail.seen.wait(60)
    assert office.chat.seen.wait(60)
    assert stuck.told == []

    stuck.let_go.set()
    turn.join()
    assert len(stuck.told) == 1


def test_as_many_receivers_that_hang_as_there_are_threads_delay_no_other(office):
    stuck, hanging = Stuck(), threading.Barrier(AT_ONCE + 1, timeout=60)
    notify = stuck.notify
    stuck.notify = lambda to, alert: (hanging.wait(), notify(to, alert))
    office.raise_alert(1, *(f"stuck:{number}" for number in range(AT_ONCE)), MAIL)
    relay = office.new_relay(notifiers={"stuck": stuck}, lease_s=30 * SLOW_S)
    turn = threading.Thread(target=relay.turn)
    turn.start()
    hanging.wait()
    assert office.mail.told == []

    office.clock.advance(SLOW_S)

    assert office.mail.seen.wait(60)
    assert stuck.told == []
    stuck.let_go.set()
    turn.join()
    assert len(stuck.told) == AT_ONCE


def test_results_of_deliveries_are_removed_after_90_days(office):
    office.chat.trouble = NotifyError("gone", permanent=True)
    office.raise_alert(1, MAIL, "slack:#perf")
    assert office.relay.turn() is None
    office.mail.trouble = NotifyError("away")
    office.raise_alert(2, MAIL)
    office.clock.advance(KEPT_S)
    assert office.relay.turn() == 1.0
    assert len(office.store.deliveries.of(an_alert(1).id)) == 2

    office.clock.advance(1.0)
    assert office.relay.turn() == 2.0

    assert office.store.deliveries.of(an_alert(1).id) == []
    assert len(office.store.deliveries.of(an_alert(2).id)) == 1, "pending, however old"
    assert len(office.events()) == 2


def test_a_notifier_that_exits_is_a_failed_attempt(office, caplog):
    office.mail.trouble = SystemExit("a plug-in that exits")
    office.raise_alert(1, MAIL)
    assert office.relay.turn() == 1.0
    (delivery,) = office.store.deliveries.of(an_alert(1).id)
    assert (delivery.attempts, delivery.error) == (1, "SystemExit: a plug-in that exits")


def test_a_long_attempt_keeps_its_lease(office):
    stuck, renewed = Stuck(), threading.Event()
    office.raise_alert(1, "stuck:1")
    relay = office.new_relay(notifiers={"stuck": stuck}, lease_s=0.3)
    renew = office.store.deliveries.renew

    def note(*args, **values):
        kept = renew(*args, **values)
        renewed.set()
        return kept

    office.store.deliveries.renew = note
    turn = threading.Thread(target=relay.turn)
    turn.start()
    assert stuck.entered.wait(60)
    office.clock.advance(0.2)
    assert renewed.wait(60)

    office.clock.advance(0.2)
    assert office.store.deliveries.claim("two", now_s=office.clock.now_s(), lease_s=1, limit=9) == []
    stuck.let_go.set()
    turn.join()
    assert len(office.events()) == 1


def test_more_addresses_than_threads_are_all_served(office):
    office.raise_alert(1, *(f"mailto:{number}@x" for number in range(3 * AT_ONCE)))
    assert office.relay.turn() is None
    assert len({to for to, _, _ in office.mail.told}) == 3 * AT_ONCE


def test_pauses_double_and_have_a_limit(office):
    office.mail.trouble = NotifyError("no answer")
    office.raise_alert(1, MAIL)
    pauses = []
    for _ in range(11):
        pauses.append(office.relay.turn())
        office.clock.advance(pauses[-1])
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0, 300.0]


def test_the_other_side_may_ask_for_a_pause(office):
    office.mail.trouble = NotifyError("slow down", again_after_s=50.0)
    office.raise_alert(1, MAIL)
    assert office.relay.turn() == 50.0
    office.mail.trouble = None

    office.clock.advance(49.0)
    assert office.relay.turn() == 1.0
    office.clock.advance(1.0)
    assert office.relay.turn() is None


def test_a_new_relay_continues_where_the_old_one_failed(office):
    office.raise_alert(1, MAIL)
    office.raise_alert(2, MAIL)
    office.mail.trouble = NotifyError("no answer")
    office.relay.turn()
    office.mail.trouble = None
    office.clock.advance(1.0)

    assert office.new_relay().turn() is None

    assert [alert for _, alert, _ in office.mail.told] == [an_alert(1).id, an_alert(2).id]


def test_a_relay_that_died_between_delivery_and_mark_repeats_it(office, monkeypatch):
    office.raise_alert(1, MAIL)
    dead = new_owner().split("/")
    dead[2:4] = ["4194305", "1"]  # no process of this machine
    (claimed,) = office.store.deliveries.claim(
        "/".join(dead), now_s=office.clock.now_s(), lease_s=60, limit=1
    )
    office.mail.notify(claimed.to, an_alert(1))

    assert office.relay.turn() is None

    assert [alert for _, alert, _ in office.mail.told] == [an_alert(1).id] * 2
    assert [event.kind for event in office.events()] == ["delivered"]


def test_a_delivery_of_a_live_relay_is_left_to_it(office):
    office.raise_alert(1, MAIL)
    office.store.deliveries.claim(f"{new_owner()}", now_s=office.clock.now_s(), lease_s=60, limit=1)
    assert office.relay.turn() == 60.0
    assert office.mail.told == []


def test_an_outcome_that_cannot_be_stored_means_a_repetition(office, monkeypatch, caplog):
    office.raise_alert(1, MAIL)
    apply = office.store.deliveries.apply

    def fail(*args):
        raise StoreError("disk full")

    monkeypatch.setattr(office.store.deliveries, "apply", fail)
    assert office.relay.turn() == 60.0
    monkeypatch.setattr(office.store.deliveries, "apply", apply)
    assert "disk full" in caplog.text
    office.clock.advance(60.0)
    assert office.relay.turn() is None
    assert len(office.mail.told) == 2
    assert len(office.events()) == 1


def test_what_can_never_arrive_does_not_block_what_can(office):
    office.raise_alert(1, "pigeon:loft")
    office.mail.trouble = NotifyError("no such mailbox", permanent=True)
    office.raise_alert(2, MAIL)
    office.relay.turn()
    office.mail.trouble = None
    office.raise_alert(3, MAIL)

    assert office.relay.turn() is None

    assert [alert for _, alert, _ in office.mail.told] == [an_alert(3).id]
    assert sorted(event.message for event in office.events() if event.kind == "undelivered") == [
        "cannot deliver confirmed to mailto:a…@x: no such mailbox; not retried",
        'cannot deliver confirmed to pigeon:loft: no notifier serves "pigeon"; not retried',
    ]


def test_the_alert_is_delivered_as_it_is_now(office):
    office.mail.trouble = NotifyError("no answer")
    office.raise_alert(1, MAIL)
    office.relay.turn()
    office.raise_alert(1, MAIL, state=AlertState.RESOLVED)
    office.mail.trouble = None
    office.clock.advance(1.0)

    assert office.relay.turn() is None

    assert [state for _, _, state in office.mail.told] == [AlertState.RESOLVED]


def test_an_alert_that_is_gone_is_refused(office):
    office.raise_alert(1, MAIL)
    office.store.alerts.get = lambda _: office.store.runs.get("f")
    assert office.relay.turn() is None
    assert [event.message for event in office.events()] == [
        "cannot deliver confirmed to mailto:a…@x: the alert no longer exists; not retried"
    ]


@pytest.mark.parametrize(
    "trouble", [ValueError("https://x.org/s3cret-hook"), NotifyError("/s3cret-hook: no answer")]
)
def test_no_secret_of_an_address_is_written_down(office, caplog, trouble):
    caplog.set_level(logging.DEBUG)
    office.mail.trouble = trouble
    office.raise_alert(1, "https://x.org/s3cret-hook")
    relay = office.new_relay(notifiers={"https": office.mail})
    assert relay.turn() == 1.0
    office.mail.trouble = NotifyError("/s3cret-hook is gone", permanent=True)
    office.clock.advance(1.0)
    assert relay.turn() is None

    (delivery,) = office.store.deliveries.of(an_alert(1).id)
    assert delivery.status is DeliveryStatus.REFUSED
    assert delivery.to == "https://x.org/…"
    assert "s3cret" not in caplog.text + delivery.error + str(office.events())
    assert "https://x.org/…" in caplog.text


def test_an_outbox_that_is_empty_costs_one_question(office):
    office.store.deliveries.owners = office.store.deliveries.claim = None
    assert office.relay.turn() is None


class WithBrokenMail(dict):
    """Notifiers of which one cannot be loaded at the moment."""

    broken = True

    def __getitem__(self, scheme):
        if scheme == "mailto" and self.broken:
            raise PlugInError("notifier cannot be loaded", remedy="update it")
        return super().__getitem__(scheme)


def test_a_notifier_that_cannot_be_loaded_is_tried_again_and_delays_no_other(office):
    notifiers = WithBrokenMail({"mailto": office.mail, "slack": office.chat})
    relay = Relay(office.store.deliveries, office.store.alerts, notifiers, office.clock)
    office.raise_alert(1, "mailto:a@x.org", "slack:#perf")
    assert relay.turn() is not None
    assert (len(office.mail.told), len(office.chat.told)) == (0, 1)
    notifiers.broken = False
    office.clock.advance(10.0)
    assert relay.turn() is None
    assert (len(office.mail.told), len(office.chat.told)) == (1, 1)


def failed_once(office, **error):
    """The relay after an attempt that failed."""
    office.mail.trouble = NotifyError("no answer", **error)
    office.raise_alert(1, MAIL)
    wait_s = office.relay.turn()
    office.mail.trouble = None
    return wait_s


@pytest.mark.parametrize("jump_s", [-86_400.0, -3600.0, 3600.0, 86_400.0])
def test_a_wall_clock_that_jumps_neither_hastens_nor_delays_the_next_attempt(office, jump_s):
    assert failed_once(office, again_after_s=40.0) == 40.0
    office.clock.jump(jump_s)
    while (wait_s := office.relay.turn()) == 0.0:
        pass
    assert (wait_s, office.mail.told) == (40.0, [])
    office.clock.advance(39.0)
    assert (office.relay.turn(), office.mail.told) == (1.0, [])
    office.clock.advance(1.0)
    assert office.relay.turn() is None
    assert len(office.mail.told) == 1


def test_a_clock_that_is_set_back_delays_no_delivery_of_a_new_relay(office):
    failed_once(office, again_after_s=40.0)
    office.clock.jump(-3600.0)
    assert office.new_relay().turn() is None
    assert len(office.mail.told) == 1


def test_a_receiver_that_asks_for_an_hour_gets_it(office):
    assert failed_once(office, again_after_s=3600.0) == 300.0
    for _ in range(11):
        office.clock.advance(300.0)
        assert (office.relay.turn(), office.mail.told) == (300.0, [])
    office.clock.advance(300.0)
    assert office.relay.turn() is None
    assert len(office.mail.told) == 1


def test_a_state_that_comes_during_a_failed_attempt_is_sent_at_once(office, monkeypatch):
    def notify(to, alert):
        monkeypatch.undo()
        office.raise_alert(1, MAIL, state=AlertState.RESOLVED)
        raise NotifyError("slow down", again_after_s=200.0)

    monkeypatch.setattr(office.mail, "notify", notify)
    office.raise_alert(1, MAIL)
    while office.relay.turn() == 0.0:
        pass
    assert [state for _, _, state in office.mail.told] == [AlertState.RESOLVED]


def test_a_delivery_under_way_is_not_started_again_when_the_clock_jumps(office):
    stuck = Stuck()
    relay = office.new_relay(notifiers={"mailto": stuck}, lease_s=0.3)
    office.raise_alert(1, MAIL)
    claims, claim = [], office.store.deliveries.claim

    def claimed(owner, **given):
        found = claim(owner, **given)
        claims.append(len(found))
        if len(claims) == 3:
            stuck.let_go.set()
        return found

    office.store.deliveries.claim = claimed
    turn = threading.Thread(target=relay.turn)
    turn.start()
    assert stuck.entered.wait(60)
    office.clock.jump(3600.0)
    turn.join(60)
    assert sum(claims) > 1, "its lease expired"
    assert len(stuck.told) == 1
