"""Runs in hand: claimed up to a bound for each engine, kept by one lease each, given back."""

import pytest

from anubis.model.run import Step
from anubis.model.status import Status
from anubis.pipeline.held_runs import LOOK_EVERY_S, SOON_S, HeldRuns
from anubis.testing import a_run


@pytest.fixture
def hand(house):
    return HeldRuns(house.leases, "me", house.clock, lease_s=30.0, max_waiting=2, lost=lambda: None)


def add(house, *runs):
    house.runs.add([(run, "text") for run in runs], [])


def claim(house, hand):
    house.clock.advance(LOOK_EVERY_S)
    hand.claim()
    return [held.run.id for held in hand]


def test_so_many_of_one_engine_and_no_more_but_those_of_others(house, hand):
    first, second, third = (a_run() for _ in range(3))
    other = a_run(engine="other")
    add(house, first, second, third)
    assert claim(house, hand) == [first.id, second.id]
    add(house, other)
    assert claim(house, hand) == [first.id, second.id, other.id]


def test_watched_runs_leave_room(house, hand):
    first, second, third = (a_run() for _ in range(3))
    add(house, first, second, third)
    claim(house, hand)
    for held in hand:
        held.run = house.leases.apply("me", held.run, Step(status=Status.WATCH), now_s=house.clock.now_s())
    assert claim(house, hand) == [first.id, second.id, third.id]


def test_claims_are_not_made_all_the_time_while_runs_are_in_hand(house, hand):
    add(house, a_run())
    claim(house, hand)
    add(house, a_run())
    hand.claim()
    assert len(hand) == 1
    assert len(claim(house, hand)) == 2


def cancel(house, *runs):
    house.runs.request_cancel([run.id for run in runs], [])


def test_a_cancellation_is_noted_once_and_makes_its_run_due(house, hand):
    run, other = a_run(), a_run()
    add(house, run, other)
    claim(house, hand)
    assert not hand.note_cancellations(at_once=True)
    for held in hand:
        held.look_s = house.clock.monotonic_s() + 99.0
    cancel(house, run)
    assert hand.note_cancellations(at_once=True)
    assert {held.run.id: held.run.cancel_requested for held in hand} == {run.id: True, other.id: False}
    assert [held.run.id for held in hand if held.look_s <= house.clock.monotonic_s()] == [run.id]
    assert not hand.note_cancellations(at_once=True), "it is noted already"


def test_cancellations_are_read_at_intervals_unless_at_once(house, hand):
    run = a_run()
    add(house, run)
    claim(house, hand)
    hand.note_cancellations()
    cancel(house, run)
    assert not hand.note_cancellations()
    house.clock.advance(LOOK_EVERY_S)
    assert hand.note_cancellations()


def test_the_cancellation_of_a_run_that_is_not_in_hand_is_ignored(house, hand):
    run = a_run()
    add(house, run)
    claim(house, hand)
    (held,) = hand
    hand.forget(held)
    cancel(house, run)
    assert not hand.note_cancellations(at_once=True)


def test_only_a_run_to_be_placed_needs_room_unless_it_is_cancelled(house, hand):
    add(house, a_run(status=Status.PLACE), a_run(status=Status.COLLECT))
    cancelled = a_run(engine="other", status=Status.PLACE)
    claim(house, hand)
    add(house, cancelled)
    claim(house, hand)
    cancel(house, cancelled)
    hand.note_cancellations(at_once=True)
    assert [held.needs_room for held in hand] == [True, False, False]


def test_an_engine_is_watched_if_one_of_its_runs_is(house, hand):
    add(house, a_run(status=Status.COLLECT), a_run(engine="other", status=Status.WATCH))
    claim(house, hand)
    assert not hand.watches("fake")
    assert hand.watches("other")


def test_what_a_dead_owner_held_is_taken_at_once(house, hand, monkeypatch):
    run = a_run()
    add(house, run)
    house.leases.claim("dead", now_s=house.clock.now_s(), lease_s=100.0, limit=1)
    assert claim(house, hand) == []
    monkeypatch.setattr("anubis.pipeline.held_runs.is_dead", lambda owner: owner == "dead")
    assert claim(house, hand) == [run.id]


def test_the_age_of_a_placement_is_known_when_it_is_claimed(house, hand):
    placed_s = house.clock.now_s() - 100.0
    add(house, a_run(status=Status.WATCH, placed_s=placed_s), a_run(placed_s=placed_s + 3600.0))
    claim(house, hand)
    ages = [round(house.clock.monotonic_s() - held.since_s, 3) for held in hand]
    assert ages == [100.0 + LOOK_EVERY_S, 0.0], "a clock that went back makes no age negative"


def test_a_run_that_is_given_back_is_free_and_not_kept(house, hand):
    add(house, a_run())
    claim(house, hand)
    (held,) = hand
    hand.release(held)
    assert (len(hand), hand.has(held), house.leases.owners()) == (0, False, [])


def test_closing_gives_back_all_but_the_busy(house, hand):
    first, second = a_run(), a_run()
    add(house, first, second)
    claim(house, hand)
    hand.busy.add(first.id)
    hand.close()
    (free,) = house.leases.claim("another", now_s=house.clock.now_s(), lease_s=1.0, limit=9)
    assert free == second


def test_a_run_that_another_owner_moved_before_the_loss_was_noticed_is_held_as_it_is_now(house):
    hand = HeldRuns(house.leases, "me", house.clock, lease_s=30.0, max_waiting=9, lost=lambda: None)
    run, unchanged = a_run(), a_run()
    add(house, run, unchanged)
    claim(house, hand)
    before = {held.run.id: held for held in hand}
    house.clock.jump(60.0)
    now_s = house.clock.now_s()
    house.leases.claim("another", now_s=now_s, lease_s=30.0, limit=9)
    house.leases.apply("another", run, Step(status=Status.COLLECT), now_s=now_s)
    house.leases.release("another")
    claim(house, hand)
    after = {held.run.id: held for held in hand}
    assert after[run.id].run.status is Status.COLLECT
    assert not hand.has(before[run.id]), "answers to what was asked before are dropped"
    assert after[unchanged.id] is before[unchanged.id]


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_a_run_that_is_claimed_again_has_waited_as_long_as_before(house, hand, jump_s):
    """For example after this process was stopped for longer than a lease, and the wall clock was set meanwhile."""
    add(house, a_run(created_s=house.clock.now_s() - 5.0))
    claim(house, hand)
    (first,) = hand
    house.clock.advance(31.0)
    hand.give_up_lost()
    assert not len(hand)
    house.clock.jump(jump_s)
    claim(house, hand)
    (again,) = hand
    assert again is not first
    assert again.since_s == first.since_s


@pytest.fixture
def told(house):
    """It looks by itself once in an hour only: other processes announce what they write."""
    options = {"lease_s": 30.0, "max_waiting": 2, "lost": lambda: None}
    return HeldRuns(house.leases, "me", house.clock, look_every_s=lambda: 3600.0, **options)


def test_an_announced_run_is_claimed_soon_and_others_are_not_looked_for(house, told):
    first, second = a_run(), a_run()
    add(house, first)
    told.claim()
    add(house, second)
    house.clock.advance(3599.0)
    told.claim()
    assert [held.run.id for held in told] == [first.id]
    told.look()
    assert told.next_look_s() <= house.clock.monotonic_s()
    told.claim()
    assert [held.run.id for held in told] == [first.id, second.id]


def test_announcements_in_succession_are_one_query(house, told):
    add(house, a_run())
    told.claim()
    told.look()
    add(house, a_run())
    told.claim()
    assert len(told) == 1
    assert told.next_look_s() == house.clock.monotonic_s() + SOON_S
    house.clock.advance(SOON_S)
    told.claim()
    assert len(told) == 2


def test_an_announced_cancellation_is_noted(house, told):
    run = a_run()
    add(house, run)
    told.claim()
    assert not told.note_cancellations()
    cancel(house, run)
    house.clock.advance(SOON_S)
    assert not told.note_cancellations()
    told.look()
    assert told.note_cancellations()


def test_a_run_that_becomes_due_is_not_announced_but_claimed_in_time(house, told):
    now, later = a_run(), a_run(due_s=house.clock.now_s() + 7)
    add(house, now, later)
    told.claim()
    assert told.next_look_s() == house.clock.monotonic_s() + 7
    house.clock.advance(7)
    told.claim()
    assert len(told) == 2


def test_runs_beyond_the_room_are_looked_for_without_an_announcement(house, told):
    first, second, third = (a_run() for _ in range(3))
    add(house, first, second, third)
    told.claim()
    (held, _) = told
    held.run = house.leases.apply("me", held.run, Step(status=Status.WATCH), now_s=house.clock.now_s())
    assert [each.run.id for each in told] == [first.id, second.id]
    assert claim(house, told) == [first.id, second.id, third.id]
