"""The contract of ``Deliveries`` as tests. A subclass has a fixture ``store`` with all parts of a store."""

from dataclasses import replace
from typing import Any

from anubis.model.alert import AlertState
from anubis.model.delivery import Delivery, DeliveryStatus
from anubis.model.run import Run, Step
from anubis.model.status import Status
from anubis.testing.builders import NOW_S, a_run, an_event
from anubis.testing.contracts.runs import LEASE_S, added, claimed, finished

ALERT, OTHER = "0123456789abcdef", "f" * 16


def a_delivery(run: Run, to: str = "mailto:a@x", alert_id: str = ALERT, **changes: Any) -> Delivery:
    """A delivery that is due; ``changes`` are fields of Delivery."""
    delivery = Delivery(
        alert_id=alert_id,
        state=AlertState.CONFIRMED,
        to=to,
        run_id=run.id,
        created_s=NOW_S,
        due_s=NOW_S,
    )
    return replace(delivery, **changes)


def queued(store: Any, *deliveries: Delivery) -> None:
    """Add deliveries to the outbox, one at a time."""
    for delivery in deliveries:
        store.alerts.put([], [], [delivery])


def taken(store: Any, owner: str = "one", *, now_s: float = NOW_S, limit: int = 10) -> list[Delivery]:
    """The deliveries that the owner claims."""
    return list(store.deliveries.claim(owner, now_s=now_s, lease_s=LEASE_S, limit=limit))


def delivered(delivery: Delivery) -> Delivery:
    """The delivery after a successful attempt."""
    return replace(
        delivery, status=DeliveryStatus.DELIVERED, attempts=delivery.attempts + 1, ended_s=NOW_S + 1
    )


class OutboxContract:
    """Adding deliveries to the outbox, and the order of claims."""

    def test_a_delivery_comes_back_as_it_was_queued(self, store: Any) -> None:
        run = added(store, a_run())
        delivery = a_delivery(run, "https://u:p@x/\u00fc?k=v", created_s=NOW_S - 1)
        queued(store, delivery)
        (found,) = store.deliveries.of(ALERT)
        assert replace(found, no=None) == delivery
        assert taken(store) == [found]
        assert store.deliveries.of(OTHER) == []

    def test_a_step_brings_its_deliveries(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        step = Step(status=Status.ALERT, deliveries=(a_delivery(run),))
        store.leases.apply("one", run, step, now_s=NOW_S)
        assert [delivery.to for delivery in taken(store)] == ["mailto:a@x"]

    def test_one_that_is_not_due_waits(self, store: Any) -> None:
        run = added(store, a_run())
        assert store.deliveries.next_due_s() is None
        queued(store, a_delivery(run, due_s=NOW_S + 10))
        assert store.deliveries.next_due_s() == NOW_S + 10
        assert taken(store, now_s=NOW_S + 9.9) == []
        assert len(taken(store, now_s=NOW_S + 10)) == 1

    def test_the_order_of_an_address_is_kept(self, store: Any) -> None:
        run = added(store, a_run())
        queued(store, a_delivery(run, due_s=NOW_S + 5), a_delivery(run, alert_id=OTHER))
        assert store.deliveries.next_due_s() == NOW_S + 5
        assert taken(store) == []
        (first,) = taken(store, now_s=NOW_S + 5)
        assert first.alert_id == ALERT
        assert taken(store, "two", now_s=NOW_S + 5) == []
        assert store.deliveries.apply("one", delivered(first), [])
        assert [second.alert_id for second in taken(store)] == [OTHER]

    def test_an_address_that_waits_delays_no_other(self, store: Any) -> None:
        run = added(store, a_run())
        queued(
            store, a_delivery(run, "slack:#slow", due_s=NOW_S + 300), a_delivery(run), a_delivery(run, "b:c")
        )
        assert [delivery.to for delivery in taken(store, limit=1)] == ["mailto:a@x"]
        assert [delivery.to for delivery in taken(store)] == ["b:c"]

    def test_a_later_state_replaces_one_that_is_pending(self, store: Any) -> None:
        first, second = a_run(), a_run()
        added(store, first, second)
        resolved = a_delivery(second, state=AlertState.RESOLVED, created_s=NOW_S + 1, due_s=NOW_S + 1)
        queued(store, a_delivery(first, due_s=NOW_S + 3), a_delivery(first, "b:c"), resolved)
        found = store.deliveries.of(ALERT)
        assert [(one.to, one.state, one.run_id) for one in found] == [
            ("mailto:a@x", AlertState.RESOLVED, second.id),
            ("b:c", AlertState.CONFIRMED, first.id),
        ]
        assert found[0].due_s == NOW_S + 3, "the pause of the address still holds"

    def test_a_state_after_a_delivery_is_delivered_too(self, store: Any) -> None:
        run = added(store, a_run())
        queued(store, a_delivery(run))
        (first,) = taken(store)
        store.deliveries.apply("one", delivered(first), [])
        queued(store, a_delivery(run, state=AlertState.RESOLVED))
        (second,) = taken(store)
        assert second.state is AlertState.RESOLVED
        assert [one.status for one in store.deliveries.of(ALERT)] == [
            DeliveryStatus.DELIVERED,
            DeliveryStatus.PENDING,
        ]

    def test_a_time_before_the_clock_was_set_back_does_not_count(self, store: Any) -> None:
        run = added(store, a_run())
        queued(store, a_delivery(run))
        (delivery,) = taken(store)
        assert taken(store, "two") == []
        assert taken(store, "two", now_s=NOW_S - 3600) == [delivery]
        store.deliveries.apply("two", replace(delivery, due_s=NOW_S + 3600), [])
        (again,) = taken(store, "three")
        assert again.no == delivery.no
        store.deliveries.apply("three", replace(again, due_s=NOW_S + 300), [])
        assert taken(store, "four") == []


class DeliveryLeaseContract:
    """Leases of deliveries, and the results written under them."""

    def test_only_one_owner_gets_a_delivery(self, store: Any) -> None:
        queued(store, a_delivery(added(store, a_run())))
        assert len(taken(store, "one")) == 1
        assert taken(store, "two") == taken(store, "one") == []
        assert store.deliveries.owners() == ["one"]
        assert store.deliveries.next_due_s() == NOW_S + LEASE_S

    def test_a_lease_that_ran_out_goes_to_the_next(self, store: Any) -> None:
        queued(store, a_delivery(added(store, a_run())))
        (first,) = taken(store, "one")
        assert taken(store, "two", now_s=NOW_S + LEASE_S - 0.1) == []
        (again,) = taken(store, "two", now_s=NOW_S + LEASE_S)
        assert again == first
        assert store.deliveries.renew("one", [first.no], now_s=NOW_S, lease_s=LEASE_S) == []
        assert not store.deliveries.apply("one", delivered(first), [])
        assert store.deliveries.of(ALERT) == [first]

    def test_a_renewed_lease_lasts_longer(self, store: Any) -> None:
        queued(store, a_delivery(added(store, a_run())))
        (first,) = taken(store, "one")
        assert store.deliveries.renew("one", [first.no], now_s=NOW_S + 20, lease_s=LEASE_S) == [first.no]
        assert taken(store, "two", now_s=NOW_S + LEASE_S) == []

    def test_leases_can_be_given_back(self, store: Any) -> None:
        queued(store, a_delivery(added(store, a_run())))
        taken(store, "one")
        store.deliveries.release("two")
        assert taken(store, "two") == []
        store.deliveries.release("one")
        assert store.deliveries.owners() == []
        assert len(taken(store, "two")) == 1

    def test_an_outcome_is_kept_with_its_events(self, store: Any) -> None:
        run = added(store, a_run())
        queued(store, a_delivery(run))
        (first,) = taken(store)
        after = delivered(first)
        assert store.deliveries.apply("one", after, [an_event(run, "delivered")])
        assert store.deliveries.of(ALERT) == [after]
        assert [event.kind for event in store.events.read(run.id)] == ["delivered"]
        assert not store.deliveries.apply("one", after, [an_event(run, "delivered")])
        assert len(store.events.read(run.id)) == 1
        assert (store.deliveries.next_due_s(), store.deliveries.owners()) == (None, [])

    def test_a_failed_attempt_is_due_again(self, store: Any) -> None:
        queued(store, a_delivery(added(store, a_run())))
        (first,) = taken(store)
        after = replace(first, attempts=1, due_s=NOW_S + 7, error="no answer \udc80")
        assert store.deliveries.apply("one", after, [])
        assert store.deliveries.next_due_s() == NOW_S + 7
        assert taken(store, now_s=NOW_S + 6) == []
        (again,) = taken(store, "two", now_s=NOW_S + 7)
        assert (again.attempts, again.error[:9]) == (1, "no answer")

    def test_a_state_that_came_during_the_attempt_is_delivered_next(self, store: Any) -> None:
        run = added(store, a_run())
        queued(store, a_delivery(run))
        (first,) = taken(store)
        queued(store, a_delivery(run, state=AlertState.RESOLVED))
        assert taken(store, "two") == []
        assert store.deliveries.apply("one", delivered(first), [an_event(run, "delivered")])
        assert [event.kind for event in store.events.read(run.id)] == ["delivered"]
        (second,) = taken(store, "two")
        assert (second.no, second.state, second.attempts) == (first.no, AlertState.RESOLVED, 0)

    def test_a_delivery_outlives_its_run(self, store: Any) -> None:
        run = finished(store, a_run())
        queued(store, a_delivery(run))
        store.runs.remove([run.id])
        (first,) = taken(store)
        assert first.run_id is None
        assert store.deliveries.apply("one", delivered(first), [an_event(run, "delivered")])
        assert store.events.read() == []
        assert store.deliveries.of(ALERT)[0].status is DeliveryStatus.DELIVERED

    def test_ended_deliveries_are_forgotten_and_pending_ones_are_not(self, store: Any) -> None:
        run = added(store, a_run())
        queued(store, a_delivery(run))
        (first,) = taken(store)
        assert store.deliveries.apply("one", delivered(first), [])
        queued(store, a_delivery(run, state=AlertState.RESOLVED))
        ended_s = NOW_S + 1
        assert store.deliveries.forget(before_s=ended_s) == 0
        assert len(store.deliveries.of(ALERT)) == 2
        assert store.deliveries.forget(before_s=ended_s + 1.0) == 1
        assert [each.status for each in store.deliveries.of(ALERT)] == [DeliveryStatus.PENDING]
        (again,) = taken(store)
        assert again.no != first.no


class DeliveriesContract(OutboxContract, DeliveryLeaseContract):
    """The whole contract."""
