"""Retention deletes what its rules name, and nothing that is held or that something refers to."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.contracts.runs import Part, RunQuery
from anubis.model.alert import AlertState
from anubis.model.errors import BadInputError
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.pipeline.chores import retention
from anubis.pipeline.chores.retention import EVERY_S, Retention
from anubis.submission.retention_rules import DAY_S, Rule
from anubis.testing import FakeClock, FakeStore, a_descriptor, a_point, a_run, an_event
from anubis.testing.contracts.alerts import an_alert
from anubis.testing.contracts.sinks import a_hold
from anubis.testing.worlds import a_world


class Environments:
    def remove(self, run_ids):
        pass


class House:
    """A store with runs of many ages."""

    def __init__(self, *rules):
        self.store, self.clock = FakeStore(), FakeClock()
        self.world = a_world(self.store, clock=self.clock, environments=Environments())
        self.rules = rules
        self.purged = []
        self.chore = Retention(self.world, self.store.holds, lambda: self.rules, self.purged.extend)

    def run(self, *, name="hello", days=0.0, subject="", point=True, final=True, **changes):
        ended_s = self.clock.now_s() - days * DAY_S
        run = a_run(a_descriptor(name), created_s=ended_s - 1, **changes)
        self.store.runs.add([(run, "")], [an_event(run, "submitted")])
        if final:
            (held,) = self.store.leases.claim("o", now_s=ended_s, lease_s=1, limit=1)
            points = (a_point(run, subject=subject),) if point else ()
            self.store.leases.apply("o", held, Step(status=Status.SUCCEEDED, points=points), now_s=ended_s)
        return run.id

    def left(self):
        return {row.id for row in self.store.runs.find(RunQuery(limit=1000))}


RUNS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["a", "b"]),
            "days": st.integers(0, 20),
            "subject": st.sampled_from(["v1", "v2", "v3"]),
            "point": st.booleans(),
            "held": st.booleans(),
        }
    ),
    max_size=12,
)


@given(
    runs=RUNS,
    baseline=st.integers(1, 3),  # the newest points of a series that are asked for: at least one
    state=st.sampled_from([AlertState.CONFIRMED, AlertState.RESOLVED]),
    alerted=st.integers(0, 11),
    by_runs=st.booleans(),
)
def test_nothing_that_is_held_or_referred_to_disappears(runs, baseline, state, alerted, by_runs):
    rule = (
        Rule(benchmark="a", run_s=5 * DAY_S)
        if by_runs
        else Rule(benchmark="a", parts_s={Part.EVENTS: 5 * DAY_S})
    )
    house = House(rule)
    runs = sorted(runs, key=lambda each: -each["days"])
    ids = [house.run(**{key: item for key, item in each.items() if key != "held"}) for each in runs]
    house.store.holds.add(
        [a_hold(run_id) for run_id, each in zip(ids, runs, strict=True) if each["held"]], []
    )
    points = {point.run_id: point for point in house.store.points.of(ids)}
    protected = set()
    if alerted < len(ids) and ids[alerted] in points:
        point = points[ids[alerted]]
        (row,) = an_alert().rows
        row = replace(row, series_key=point.series_key, fingerprint=point.fingerprint, metric=point.metric)
        alert = an_alert(rows=(row,), run_id=point.run_id, state=state, last_old="v1", earliest_old="")
        house.store.alerts.put([alert], [])
        if state is not AlertState.RESOLVED:
            protected = {point.run_id} | {
                each.run_id
                for each in points.values()
                if each.series_key == point.series_key and each.subject == "v1"
            }
    needed = set()
    for name in "ab":
        of_series = [
            run_id
            for run_id, each in zip(ids, runs, strict=True)
            if each["name"] == name and run_id in points
        ]
        needed |= set(of_series[-baseline:])
    before = {run_id: house.store.events.read(run_id) for run_id in ids}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retention, "BASELINE_RUNS", baseline)
        would = [each for page in house.chore.expire(dry_run=True) for each in page]
        assert house.left() == set(ids)
        done = [each for page in house.chore.expire() for each in page]
    assert done == would
    over = {
        run_id
        for run_id, each in zip(ids, runs, strict=True)
        if each["name"] == "a" and each["days"] > 5 and not each["held"] and run_id not in protected
    }
    if by_runs:
        assert house.left() == set(ids) - (over - needed)
        assert {
            event.run_id for event in house.store.events.read_all() if event.kind == "purged"
        } == over - needed
    else:
        assert house.left() == set(ids)
        changed = {run_id for run_id in ids if house.store.events.read(run_id) != before[run_id]}
        assert changed == over


def test_runs_in_progress_keep_their_family_and_cause():
    house = House(Rule(run_s=DAY_S))
    cause, member, gone = (house.run(days=3, point=False, family_id=each) for each in (None, "f", "g"))
    house.run(final=False, family_id="f", parent_id=cause)
    assert [each.run_id for page in house.chore.expire() for each in page] == [gone]
    assert {cause, member} < house.left()


def test_a_pass_is_made_of_small_turns_and_repeated_after_hours(monkeypatch):
    monkeypatch.setattr(retention, "PAGE", 2)
    house = House(Rule(run_s=DAY_S))
    for _ in range(3):
        house.run(days=3, point=False)
    assert house.chore.turn() == 0.0
    assert len(house.left()) == 1
    assert house.chore.turn() == 0.0
    assert house.chore.turn() is None
    assert house.left() == set()
    house.run(days=3, point=False)
    assert house.chore.turn() is None
    house.clock.advance(EVERY_S)
    assert house.chore.turn() == 0.0
    assert house.left() == set()


def test_a_run_that_is_held_since_it_was_found_remains():
    house = House(Rule(run_s=DAY_S))
    run_id = house.run(days=3, point=False)
    hold = house.store.holds.held
    house.store.holds.held = lambda ids: hold(ids) if house.store.holds.add([a_hold(run_id)], []) else []
    assert [each for page in house.chore.expire() for each in page] == []
    assert house.left() == {run_id}


def test_rules_that_are_not_valid_delete_nothing():
    house = House(Rule(run_s=DAY_S))
    run_id = house.run(days=3, point=False)

    def broken():
        raise BadInputError("not valid")

    chore = Retention(house.world, house.store.holds, broken, house.purged.extend)
    assert chore.turn() is None
    assert house.left() == {run_id}


def test_the_runs_of_a_sweep_in_progress_remain(monkeypatch):
    house = House(Rule(run_s=DAY_S))
    member = house.run(days=3, point=False, family_id="a-sweep")
    monkeypatch.setattr(house.store.sweeps, "running", lambda: {"a-sweep": 1})
    assert [each for page in house.chore.expire() for each in page] == []
    assert house.left() == {member}
