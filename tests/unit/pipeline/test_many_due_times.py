"""Schedulers that die, stall and lose their leases, while clocks change in several zones: each due time starts once."""

import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from anubis.contracts.schedules import CatchUp, DueState
from anubis.describe import due_after
from anubis.model.ids import new_run_id
from anubis.pipeline.chores.scheduler import Scheduler
from anubis.submission.due_times import GRACE_S, start_s
from anubis.submission.scheduled_runs import ScheduledRuns
from anubis.testing import a_run
from anubis.testing.contracts.schedules import a_schedule
from support.cron_reference import due_between

ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kolkata"]
EXPRESSIONS = ["*/3 * * * *", "*/5 * * * *", "7,37 * * * *", "30 2 * * *", "*/4 1-3 * * *"]
#: Days with changes of an offset: Lord Howe and Santiago back, Santiago forth, Berlin back, New York back.
CHANGES = [(2024, 4, 7), (2024, 9, 8), (2024, 10, 27), (2024, 11, 3)]
HOURS_BEFORE, SPAN_S = 18, 36 * 3600.0
SCHEDULERS, LEASE_S, STEP_S = 5, 20.0, 10.0
#: Schedules for each expression, zone and change.
COPIES = 4


class Killed(BaseException):
    """The process of a scheduler ends."""


class Unreliable:
    """The schedules as one scheduler sees them: before it writes, it may be killed, or stall until others are done."""

    def __init__(self, schedules, chance, others):
        self._schedules, self._chance, self._others = schedules, chance, others

    def __getattr__(self, name):
        return getattr(self._schedules, name)

    def apply(self, owner, decisions, *, forget_before_s):
        fate = self._chance.random()
        if fate < 0.05:
            raise Killed
        if fate < 0.1:
            self._others()
        written = self._schedules.apply(owner, decisions, forget_before_s=forget_before_s)
        if fate > 0.95:
            raise Killed
        return written


class Simulation:
    def __init__(self, house, change, seed):
        self.house, self.chance = house, random.Random(seed)
        self.start_s = datetime(*change, tzinfo=UTC).timestamp() - HOURS_BEFORE * 3600
        house.clock.jump(self.start_s - house.clock.now_s())
        self.base = a_run()
        self.started = []
        self.names = iter(range(10**9))
        self.deep = 0
        self.schedulers = [self.scheduler() for _ in range(SCHEDULERS)]
        for zone in ZONES:
            for text in EXPRESSIONS:
                for _ in range(COPIES):
                    self.add(text, zone)

    def add(self, text, zone):
        next_s = due_after(text, zone, self.start_s)
        schedule = a_schedule(
            f"s{next(self.names)}", scheduling=text, timezone=zone, next_s=next_s, catch_up=CatchUp.ALL,
            catch_up_limit=1000, jitter_s=self.chance.choice([0.0, 60.0]),
        )  # fmt: skip
        ready_s = start_s(schedule, next_s)
        self.house.store.schedules.add(replace(schedule, ready_s=ready_s), "")

    def scheduler(self):
        unreliable = Unreliable(self.house.store.schedules, self.chance, self.others)
        return Scheduler(
            unreliable, self.house.world, default_engine="fake", lease_s=LEASE_S,
            owner=f"owner-{next(self.names)}", make_runs=self.runs_of,
        )  # fmt: skip

    def runs_of(self, schedule, _text, due_s):
        run = replace(self.base, id=new_run_id(), cell={"schedule": schedule.id, "due_s": due_s})
        return ScheduledRuns(runs=((run, ""),), events=())

    def others(self):
        """While a scheduler stalls, its leases expire and the others work."""
        if self.deep == 0:
            self.deep = 1
            self.house.clock.advance(LEASE_S + 1)
            for _ in range(2):
                self.turn(self.chance.randrange(SCHEDULERS))
            self.deep = 0

    def turn(self, number):
        try:
            self.schedulers[number].turn()
        except Killed:
            self.schedulers[number] = self.scheduler()

    def run(self):
        end_s = self.start_s + SPAN_S
        while self.house.clock.now_s() < end_s:
            for number in self.chance.sample(range(SCHEDULERS), 2):
                self.turn(number)
            self.house.clock.advance(STEP_S)
            if self.chance.random() < 0.001:
                self.house.clock.jump(-self.chance.choice([5.0, 300.0]))
        for _ in range(50):  # what the last deaths left
            self.house.clock.advance(LEASE_S)
            self.turn(self.chance.randrange(SCHEDULERS))


@pytest.fixture
def quick_house(house, monkeypatch):
    """Without overlap and environments, whose fakes are slow with many runs."""
    monkeypatch.setattr(house.runs, "find", lambda query: [])
    monkeypatch.setattr("anubis.pipeline.chores.scheduler.adding.hand_over", lambda world, runs: None)
    return house


@pytest.mark.parametrize("change", CHANGES)
def test_each_due_time_starts_once_whatever_dies(quick_house, change):
    """A quarter of 100,000 due times, compared with a reference that tries every minute."""
    simulation = Simulation(quick_house, change, seed=sum(change))
    simulation.run()
    now_s = quick_house.clock.now_s()
    stored = Counter(
        (run.cell["schedule"], run.cell["due_s"]) for run in quick_house.store.runs._shelf.runs.values()
    )
    assert set(stored.values()) == {1}, "none twice"
    checked = 0
    reference = {
        (text, zone): due_between(text, zone, simulation.start_s, now_s)
        for text in EXPRESSIONS
        for zone in ZONES
    }
    for schedule in quick_house.store.schedules.find():
        expected = reference[schedule.scheduling, schedule.timezone]
        expected = [due_s for due_s in expected if start_s(schedule, due_s) <= now_s - GRACE_S]
        noted = quick_house.store.schedules.due_times(schedule.id, limit=10**6)
        assert {due.state for due in noted} <= {DueState.STARTED}
        assert {due.due_s for due in noted} >= set(expected), f"none lost of {schedule.scheduling}"
        assert {due.due_s for due in noted} == {due_s for key, due_s in stored if key == schedule.id}
        checked += len(expected)
    assert checked > 20_000
