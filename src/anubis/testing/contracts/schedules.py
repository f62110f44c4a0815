"""The contract of ``Schedules`` as tests. A subclass has a fixture ``store`` with all parts of a store."""

from dataclasses import replace
from typing import Any

import pytest

from anubis.contracts.runs import RunQuery
from anubis.contracts.schedules import QUEUE_LOOK_S, Decision, DueState, DueTime, Schedule
from anubis.model.descriptor import Overlap
from anubis.model.errors import ConflictError, NotFoundError
from anubis.model.ids import new_run_id
from anubis.testing.builders import NOW_S, a_run, an_event

LEASE_S = 30.0
TEXT = "[info]\nname = 'é\u2028'\n"


def a_schedule(name: str = "nightly", **changes: Any) -> Schedule:
    """A schedule that is due; ``changes`` are fields of Schedule."""
    schedule = Schedule(
        id=new_run_id(),
        name=name,
        scheduling="*/5 * * * *",
        timezone="UTC",
        overlap=Overlap.SKIP,
        owner="a-client",
        created_s=NOW_S - 1000.0,
        changed_s=NOW_S - 1000.0,
        file="/somewhere/nightly.toml",
        next_s=NOW_S,
        ready_s=NOW_S,
    )
    return replace(schedule, **changes)


def a_due_time(schedule: Schedule, due_s: float = NOW_S, **changes: Any) -> DueTime:
    """A due time that was skipped; ``changes`` are fields of DueTime."""
    due = DueTime(schedule_id=schedule.id, due_s=due_s, state=DueState.SKIPPED, noted_s=NOW_S + 1)
    return replace(due, **changes)


def a_start(schedule: Schedule, due_s: float = NOW_S, *, next_s: float | None = NOW_S + 300.0) -> Decision:
    """The decision to start a due time."""
    run = a_run(parent_id=schedule.id)
    return Decision(
        after=replace(schedule, next_s=next_s, ready_s=next_s),
        due_times=(a_due_time(schedule, due_s, state=DueState.STARTED, run_id=run.id),),
        runs=((run, TEXT),),
        events=(an_event(run, "submitted"),),
    )


def taken(store: Any, owner: str = "one", *, now_s: float = NOW_S, limit: int = 10) -> list[Schedule]:
    """The schedules that the owner claims."""
    return list(store.schedules.claim(owner, now_s=now_s, lease_s=LEASE_S, limit=limit))


def applied(store: Any, owner: str, *decisions: Decision) -> list[str]:
    """The ids of the schedules whose decisions were written."""
    return list(store.schedules.apply(owner, decisions, forget_before_s=0.0))


class SchedulesContract:
    """Storing, changing and removing schedules."""

    def test_a_schedule_is_read_as_it_was_stored(self, store: Any) -> None:
        schedule = a_schedule(overrides={"a.b": "é"}, queued=(1.5, 2.25), pause_reason="x", next_s=None)
        added = store.schedules.add(schedule, TEXT)
        assert added == replace(schedule, version=1)
        for ref in ("nightly", schedule.id, schedule.id[:13], schedule.id.replace("-", "").upper()):
            assert store.schedules.get(ref) == added
        assert store.schedules.text(schedule.id) == TEXT
        assert store.schedules.find() == [added]

    def test_schedules_are_listed_by_name(self, store: Any) -> None:
        for name in ("b", "A", "c"):
            store.schedules.add(a_schedule(name), TEXT)
        assert [each.name for each in store.schedules.find()] == ["A", "b", "c"]

    def test_a_name_is_taken_once(self, store: Any) -> None:
        store.schedules.add(a_schedule(), TEXT)
        with pytest.raises(ConflictError):
            store.schedules.add(a_schedule(), TEXT)
        assert len(store.schedules.find()) == 1

    def test_a_name_is_unique_in_its_project(self, store: Any) -> None:
        first, other, third = (a_schedule(project=name) for name in ("default", "team", "lab"))
        alone = a_schedule("weekly", project="team")
        for each in (first, other, third, alone):
            store.schedules.add(each, TEXT)
        for ref, found in (("nightly", first), ("team:nightly", other), ("weekly", alone)):
            assert store.schedules.get(ref).id == found.id
        names = [each.full_name for each in store.schedules.find()]
        assert names == ["lab:nightly", "nightly", "team:nightly", "team:weekly"]
        store.schedules.remove(first.id)
        with pytest.raises(NotFoundError, match="several schedules"):
            store.schedules.get("nightly")

    def test_unknown_schedules_are_not_found(self, store: Any) -> None:
        schedule = a_schedule()
        store.schedules.add(schedule, TEXT)
        for ref in ("other", "", "0" * 32, "%", new_run_id()):
            with pytest.raises(NotFoundError):
                store.schedules.get(ref)
        with pytest.raises(NotFoundError):
            store.schedules.text(new_run_id())

    def test_an_ambiguous_prefix_is_refused(self, store: Any) -> None:
        first = a_schedule("a", id="01a20000-0000-7000-8000-000000000001")
        second = a_schedule("b", id="01a20000-0000-7000-8000-000000000002")
        for each in (first, second):
            store.schedules.add(each, TEXT)
        with pytest.raises(NotFoundError, match="several"):
            store.schedules.get("01a2")

    def test_a_change_needs_the_version_that_was_read(self, store: Any) -> None:
        added = store.schedules.add(a_schedule(), TEXT)
        changed = store.schedules.change(Decision(after=replace(added, jitter_s=5.0)), text="new")
        assert (changed.version, store.schedules.get("nightly").jitter_s) == (2, 5.0)
        with pytest.raises(ConflictError):
            store.schedules.change(a_start(added), text="lost")
        assert store.schedules.text(added.id) == "new"
        assert store.schedules.due_times(added.id, limit=10) == []
        assert store.runs.find(RunQuery()) == []

    def test_a_change_ends_the_lease(self, store: Any) -> None:
        added = store.schedules.add(a_schedule(), TEXT)
        (claimed,) = taken(store)
        store.schedules.change(Decision(after=added))
        assert applied(store, "one", a_start(claimed)) == []
        assert store.runs.find(RunQuery()) == []
        assert len(taken(store, "two")) == 1

    def test_a_removed_schedule_leaves_its_runs(self, store: Any) -> None:
        store.schedules.add(a_schedule(), TEXT)
        (claimed,) = taken(store)
        assert applied(store, "one", a_start(claimed)) == [claimed.id]
        store.schedules.remove(claimed.id)
        store.schedules.remove(claimed.id)
        assert store.schedules.find() == []
        assert store.schedules.due_times(claimed.id, limit=10) == []
        assert len(store.runs.find(RunQuery(parent_id=claimed.id))) == 1
        assert applied(store, "one", a_start(claimed)) == []
        store.schedules.add(a_schedule(), TEXT)


class ScheduleLeaseContract:
    """Claims and decisions of schedulers."""

    def test_due_schedules_are_claimed_once_and_earliest_first(self, store: Any) -> None:
        for name, ready_s in (("b", NOW_S), ("a", NOW_S - 5), ("later", NOW_S + 1), ("never", None)):
            store.schedules.add(a_schedule(name, ready_s=ready_s), TEXT)
        assert [each.name for each in taken(store, limit=1)] == ["a"]
        assert [each.name for each in taken(store, "two")] == ["b"]
        assert taken(store, "three") == []
        assert store.schedules.owners() == ["one", "two"]
        assert store.schedules.next_ready_s() == NOW_S + 1
        store.schedules.release("one")
        assert [each.name for each in taken(store, "three")] == ["a"]

    def test_without_schedules_nothing_is_ready(self, store: Any) -> None:
        assert store.schedules.next_ready_s() is None
        assert taken(store) == []
        assert store.schedules.owners() == []

    def test_an_expired_lease_is_claimed_and_its_decision_is_dropped(self, store: Any) -> None:
        store.schedules.add(a_schedule(), TEXT)
        (slow,) = taken(store)
        assert taken(store, "two", now_s=NOW_S + LEASE_S - 1) == []
        (claimed,) = taken(store, "two", now_s=NOW_S + LEASE_S)
        assert applied(store, "one", a_start(slow)) == []
        assert applied(store, "two", a_start(claimed)) == [claimed.id]
        assert applied(store, "two", a_start(claimed)) == []
        assert len(store.runs.find(RunQuery())) == 1

    def test_a_lease_far_in_the_future_does_not_count(self, store: Any) -> None:
        """It was written before the wall clock was set back."""
        store.schedules.add(a_schedule(), TEXT)
        assert taken(store, "one", now_s=NOW_S + 3600.0)
        assert len(taken(store, "two")) == 1

    def test_a_decision_is_written_as_a_whole(self, store: Any) -> None:
        store.schedules.add(a_schedule(), TEXT)
        (claimed,) = taken(store)
        decision = a_start(claimed)
        run = decision.runs[0][0]
        assert applied(store, "one", decision) == [claimed.id]
        assert store.schedules.get("nightly") == replace(decision.after, version=2)
        assert store.schedules.due_times(claimed.id, limit=10) == list(decision.due_times)
        assert store.runs.get(run.id) == run
        assert store.runs.text(run.id) == TEXT
        assert [event.kind for event in store.events.read(run.id)] == ["submitted"]
        assert store.schedules.owners() == []

    def test_a_due_time_that_was_decided_is_not_started_again(self, store: Any) -> None:
        """Not even by a decision whose schedule went back in time."""
        store.schedules.add(a_schedule(), TEXT)
        (claimed,) = taken(store)
        applied(store, "one", a_start(claimed, next_s=NOW_S))
        (again,) = taken(store)
        assert applied(store, "one", a_start(again)) == [claimed.id]
        assert len(store.runs.find(RunQuery())) == 1
        assert store.schedules.get("nightly").next_s == NOW_S + 300.0

    def test_a_queued_due_time_gets_another_state(self, store: Any) -> None:
        store.schedules.add(a_schedule(), TEXT)
        (claimed,) = taken(store)
        queued = a_due_time(claimed, state=DueState.QUEUED, reason="busy")
        applied(store, "one", Decision(after=replace(claimed, queued=(NOW_S,)), due_times=(queued,)))
        assert store.schedules.due_times(claimed.id, limit=1) == [queued]
        (claimed,) = taken(store)
        decision = a_start(replace(claimed, queued=()))
        applied(store, "one", decision)
        assert store.schedules.due_times(claimed.id, limit=1) == list(decision.due_times)
        assert len(store.runs.find(RunQuery())) == 1

    def test_events_about_other_runs_are_written(self, store: Any) -> None:
        run = a_run()
        store.runs.add([(run, TEXT)], [])
        store.schedules.add(a_schedule(), TEXT)
        (claimed,) = taken(store)
        applied(store, "one", Decision(after=claimed, events=(an_event(run, "schedule_paused"),)))
        assert [event.kind for event in store.events.read(run.id)] == ["schedule_paused"]

    def test_several_decisions_are_written_without_those_of_lost_leases(self, store: Any) -> None:
        for name in "abc":
            store.schedules.add(a_schedule(name), TEXT)
        decisions = [a_start(each) for each in taken(store)]
        store.schedules.change(Decision(after=store.schedules.get("b")))
        written = applied(store, "one", *decisions)
        assert written == [decisions[0].after.id, decisions[2].after.id]
        assert len(store.runs.find(RunQuery())) == 2

    def test_due_times_are_newest_first_and_forgotten_when_old(self, store: Any) -> None:
        store.schedules.add(a_schedule(), TEXT)
        (claimed,) = taken(store)
        states = [DueState.SKIPPED, DueState.QUEUED, DueState.FAILED]
        due_times = [
            a_due_time(claimed, NOW_S + at, state=state, count=at + 1, last_s=NOW_S + at + 0.5)
            for at, state in enumerate(states)
        ]
        applied(store, "one", Decision(after=claimed, due_times=tuple(due_times)))
        assert store.schedules.due_times(claimed.id, limit=2) == [due_times[2], due_times[1]]
        (claimed,) = taken(store)
        store.schedules.apply("one", [Decision(after=claimed)], forget_before_s=NOW_S + 2)
        assert store.schedules.due_times(claimed.id, limit=9) == [due_times[2], due_times[1]]

    def test_a_queue_is_looked_at_although_the_clock_was_set_back(self, store: Any) -> None:
        for name, queued in (("empty", ()), ("waiting", (NOW_S,))):
            later_s = NOW_S + QUEUE_LOOK_S + 3600.0
            store.schedules.add(a_schedule(name, queued=queued, ready_s=later_s), TEXT)
        assert [each.name for each in taken(store)] == ["waiting"]


class AllSchedulesContract(SchedulesContract, ScheduleLeaseContract):
    """Everything that a store of schedules promises."""
