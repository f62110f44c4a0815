"""Chores have their turns on time, one turn at a time, and stall nothing."""

import pytest

from anubis.pipeline.chore_turns import FAILED_S, FIRST_S, IDLE_S, ChoreTurns
from anubis.testing import FakeThreads


class Sweeper:
    name = "sweeper"

    def __init__(self):
        self.turns = 0
        self.again_after_s = None

    def turn(self):
        self.turns += 1
        if isinstance(self.again_after_s, BaseException):
            raise self.again_after_s
        return self.again_after_s


class Office:
    """One chore, and a time that the test owns."""

    def __init__(self, start=None):
        self.now_s, self.rings = 100.0, []
        self.chore, self.threads = Sweeper(), FakeThreads()
        self.chores = ChoreTurns(
            [self.chore], self.now_s, start or self.threads, lambda: self.rings.append("done")
        )

    def at(self, now_s, *, early=False, run=True):
        """What the loop does at this time; then the thread of the chore runs."""
        self.now_s = now_s
        self.chores.take(now_s, early=early)
        if run:
            self.threads.run()
            self.chores.take(now_s, early=early)
        return self.chore.turns


@pytest.fixture
def office():
    return Office()


def test_the_first_turn_waits_for_runs_in_hand_and_for_nothing_else(office):
    assert office.at(100.0) == 0
    assert office.at(100.0 + FIRST_S) == 1
    assert Office().at(100.0, early=True) == 1


def test_the_next_turn_is_when_the_chore_says(office):
    office.chore.again_after_s = 20.0
    assert [office.at(101.0), office.at(120.9), office.at(121.0)] == [1, 1, 2]
    assert office.chores.next_s() == 141.0


def test_a_chore_with_nothing_outstanding_is_asked_again_now_and_then(office):
    assert [office.at(101.0), office.at(101.0 + IDLE_S)] == [1, 2]


def test_never_two_turns_at_the_same_time(office):
    office.at(101.0, run=False)
    office.chores.ask(102.0)
    office.at(500.0, run=False)
    assert office.threads.names == ["sweeper"]
    assert office.chores.next_s() == float("inf")


def test_what_comes_up_during_a_turn_gets_another_turn(office):
    office.at(101.0, run=False)
    office.chores.ask(101.5)
    office.threads.run()
    assert not office.chores.rested
    assert office.at(102.0) == 2
    assert office.chores.rested


def test_it_is_outstanding_until_a_turn_says_otherwise(office):
    seen = [office.chores.outstanding]
    office.at(101.0, run=False)
    seen.append(office.chores.outstanding)
    office.at(101.0)
    seen.append(office.chores.outstanding)
    office.chores.ask(102.0)
    seen.append(office.chores.outstanding)
    office.chore.again_after_s = 1.0
    office.at(102.0)
    seen.append(office.chores.outstanding)
    assert seen == [True, True, False, True, True]


@pytest.mark.parametrize("error", [ValueError("a defect"), SystemExit()])
def test_a_chore_that_fails_is_asked_again_after_a_while(office, error):
    office.chore.again_after_s = error
    office.at(101.0)
    assert office.chores.outstanding
    assert [office.at(101.0 + FAILED_S - 1), office.at(101.0 + FAILED_S)] == [1, 2]


def test_without_a_thread_it_is_tried_again_later():
    def refuse(name, work):
        raise RuntimeError("can't start new thread")

    office = Office(refuse)
    office.at(101.0)
    assert (office.chores.next_s(), office.chores.outstanding) == (101.0 + FAILED_S, True)


def test_the_end_of_a_turn_wakes_the_loop(office):
    office.at(101.0)
    assert office.rings == ["done"]
