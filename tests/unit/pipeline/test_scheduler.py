"""What a scheduler decides about each due time."""

from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from anubis.contracts.runs import RunQuery
from anubis.contracts.schedules import CatchUp, Decision, DueState
from anubis.model.descriptor import Overlap
from anubis.model.errors import StoreError
from anubis.model.status import Status
from anubis.pipeline.chores import scheduler
from anubis.pipeline.chores.scheduler import Scheduler
from anubis.submission.due_times import GRACE_S, delay_s, start_s
from anubis.testing.builders import NOW_S
from anubis.testing.contracts.schedules import a_schedule

TEXT = """spec_version = "1.0"
[info]
name = "nightly"
scheduling = "*/5 * * * *"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "true"
"""
REFUSED = TEXT.replace("[hardware]", 'execution_engine = "elsewhere"\n[hardware]')
#: The start of a minute that is a multiple of five.
DUE_S = NOW_S - NOW_S % 300
STEP_S = 300.0


@pytest.fixture
def keep(house, tmp_path):
    """Adds a schedule that is due every five minutes, from ``DUE_S`` on, and makes a scheduler for it."""
    house.clock.jump(DUE_S - house.clock.now_s())

    def make(text=TEXT, **changes):
        given = {"folder": str(tmp_path), "next_s": DUE_S, "ready_s": DUE_S, "created_s": DUE_S} | changes
        added = house.store.schedules.add(a_schedule(**given), text)
        house.schedule_id = added.id
        return Scheduler(house.store.schedules, house.world, default_engine="fake")

    return make


def decided(house):
    """(offset from the first due time, state) of each decided due time, oldest first."""
    due_times = house.store.schedules.due_times(house.schedule_id, limit=1000)
    return [(due.due_s - DUE_S, due.state) for due in reversed(due_times)]


def runs(house):
    """The runs of the schedule, oldest first."""
    rows = house.runs.find(RunQuery(parent_id=house.schedule_id, newest_first=False))
    return [house.runs.get(row.id) for row in rows]


def end(house, run, status=Status.SUCCEEDED):
    house.leases.claim("driver", now_s=house.clock.now_s(), lease_s=30.0, limit=100)
    house.store.runs._shelf.runs[run.id] = replace(house.runs.get(run.id), status=status)


def test_a_due_time_submits_a_single_run(house, keep):
    chore = keep(overrides={"ml.args": "--fast"})
    assert chore.turn() == scheduler.LOOK_EVERY_S
    (run,) = runs(house)
    assert (run.parent_id, run.status, run.engine) == (house.schedule_id, Status.PLACE, "fake")
    assert (run.descriptor.info.scheduling, run.descriptor.ml.args) == ("single_run", "--fast")
    assert house.runs.text(run.id) == TEXT
    (event,) = house.events.read(run.id)
    assert event.data == {"schedule": house.schedule_id, "due_s": DUE_S}
    assert house.world.environments.handed_over(run.id) is not None
    assert decided(house) == [(0.0, DueState.STARTED)]


def test_before_its_time_nothing_starts(house, keep):
    chore = keep()
    house.clock.jump(-2.0)
    assert chore.turn() == pytest.approx(2.0)
    assert runs(house) == []
    house.clock.advance(2.0)
    chore.turn()
    assert len(runs(house)) == 1


def test_without_schedules_nothing_is_outstanding(house):
    assert Scheduler(house.store.schedules, house.world, default_engine="fake").turn() is None


def test_the_clock_is_looked_at_often(house, keep):
    """A schedule that is due tomorrow does not delay one that is added now."""
    assert keep(next_s=DUE_S + 86_400, ready_s=DUE_S + 86_400).turn() == scheduler.LOOK_EVERY_S


def test_skip_leaves_out_due_times_while_a_run_is_not_final(house, keep):
    chore = keep()
    for _ in range(3):
        chore.turn()
        house.clock.advance(STEP_S)
    assert decided(house) == [(0, DueState.STARTED), (300, DueState.SKIPPED), (600, DueState.SKIPPED)]
    (first,) = runs(house)
    assert first.id in house.store.schedules.due_times(house.schedule_id, limit=1)[0].reason
    end(house, first)
    chore.turn()
    assert len(runs(house)) == 2


def test_queue_starts_one_run_after_the_other(house, keep):
    chore = keep(overlap=Overlap.QUEUE)
    for _ in range(3):
        wait_s = chore.turn()
        house.clock.advance(STEP_S)
    assert wait_s <= 1.0, "a queue is looked at often"
    assert [state for _, state in decided(house)] == [DueState.STARTED, DueState.QUEUED, DueState.QUEUED]
    for count in (2, 3, 4):
        end(house, runs(house)[-1])
        chore.turn()
        chore.turn()
        assert len(runs(house)) == count
        house.clock.advance(1.0)
    assert {state for _, state in decided(house)} == {DueState.STARTED}


def test_a_queue_is_limited(house, keep, monkeypatch):
    monkeypatch.setattr(scheduler, "MOST_QUEUED", 2)
    chore = keep(overlap=Overlap.QUEUE)
    for _ in range(4):
        chore.turn()
        house.clock.advance(STEP_S)
    states = [state for _, state in decided(house)]
    assert states == [DueState.STARTED, DueState.QUEUED, DueState.QUEUED, DueState.SKIPPED]


def test_replace_cancels_the_run_and_starts_after_it(house, keep):
    chore = keep(overlap=Overlap.REPLACE)
    chore.turn()
    (old,) = runs(house)
    house.clock.advance(STEP_S)
    chore.turn()
    assert house.runs.get(old.id).cancel_requested
    assert [run.id for run in runs(house)] == [old.id], "two runs do not overlap"
    (event,) = [event for event in house.events.read(old.id) if event.kind == "cancel_requested"]
    assert "replaced" in event.message
    end(house, old, Status.CANCELLED)
    house.clock.advance(1.0)
    chore.turn()
    assert len(runs(house)) == 2
    assert decided(house) == [(0, DueState.STARTED), (300, DueState.STARTED)]


def test_a_queued_due_time_is_replaced_by_a_later_one(house, keep):
    chore = keep(overlap=Overlap.REPLACE)
    for _ in range(3):
        chore.turn()
        house.clock.advance(STEP_S)
    assert decided(house) == [(0, DueState.STARTED), (300, DueState.REPLACED), (600, DueState.QUEUED)]


@pytest.mark.parametrize(
    ("catch_up", "limit", "started", "missed"),
    [(CatchUp.NONE, 10, [], 13), (CatchUp.LAST, 10, [3600], 12), (CatchUp.ALL, 3, [3000, 3300, 3600], 10)],
)
def test_missed_due_times_are_made_up_for_as_the_schedule_says(house, keep, catch_up, limit, started, missed):
    """No worker was active for one hour and 61 seconds."""
    chore = keep(overlap=Overlap.QUEUE, catch_up=catch_up, catch_up_limit=limit)
    house.clock.advance(3600.0 + GRACE_S + 1)
    for _ in range(len(started) + 1):
        chore.turn()
        for run in runs(house):
            end(house, run)
        house.clock.advance(2.0)
    due_times = house.store.schedules.due_times(house.schedule_id, limit=100)
    skipped = [due for due in due_times if due.state is DueState.SKIPPED]
    assert sum(due.count for due in skipped) == missed
    assert all("missed" in due.reason for due in skipped)
    assert [offset for offset, state in decided(house) if state is DueState.STARTED] == started


def test_a_year_of_missed_minutes_is_noted_and_the_last_one_starts(house, keep):
    chore = keep(scheduling="* * * * *")
    house.clock.advance(7 * 86_400.0)
    chore.turn()
    due_times = house.store.schedules.due_times(house.schedule_id, limit=100)
    assert sum(due.count for due in due_times) == 7 * 1440 + 1
    assert [due.state for due in due_times].count(DueState.STARTED) == 1
    assert due_times[0].due_s == DUE_S + 7 * 86_400.0


def test_jitter_delays_each_due_time_by_its_own_fixed_time(house, keep):
    chore = keep(jitter_s=100.0)
    schedule = house.store.schedules.get("nightly")
    delays = [delay_s(schedule, DUE_S + number * STEP_S) for number in range(200)]
    assert 0.0 <= min(delays) < 5.0 < 95.0 < max(delays) < 100.0
    assert len(set(delays)) == 200
    assert delay_s(replace(schedule, id="another"), DUE_S) != delays[0]
    house.clock.jump(start_s(schedule, DUE_S) - 0.5 - house.clock.now_s())
    chore.turn()
    assert runs(house) == []
    house.clock.advance(1.0)
    chore.turn()
    assert decided(house) == [(0.0, DueState.STARTED)]


def test_a_clock_that_is_set_back_starts_nothing_twice(house, keep):
    chore = keep()
    chore.turn()
    end(house, runs(house)[0])
    house.clock.jump(-7200.0)
    for _ in range(23):
        house.clock.advance(STEP_S)
        chore.turn()
    assert len(runs(house)) == 1
    house.clock.advance(STEP_S)
    chore.turn()
    house.clock.advance(STEP_S)
    chore.turn()
    assert decided(house) == [(0, DueState.STARTED), (300, DueState.STARTED)]


def test_a_clock_that_is_set_forth_misses_due_times(house, keep):
    chore = keep(catch_up=CatchUp.NONE)
    chore.turn()
    house.clock.jump(3600.0 + 120.0)
    chore.turn()
    assert [due.count for due in house.store.schedules.due_times(house.schedule_id, limit=9)] == [12, 1]


def test_a_schedule_that_fails_again_and_again_is_paused_and_says_so(house, keep):
    chore = keep(pause_after=2)
    for _ in range(3):
        chore.turn()
        for run in runs(house):
            end(house, run, Status.FAILED)
        house.clock.advance(STEP_S)
    paused = house.store.schedules.get("nightly")
    assert (paused.paused_s, paused.ready_s) == (DUE_S + 600, None)
    assert "last 2 due times failed" in paused.pause_reason
    (event,) = [e for e in house.events.read(runs(house)[-1].id) if e.kind == "schedule_paused"]
    assert "anubis schedule resume" in event.message
    assert decided(house)[-1] == (600, DueState.SKIPPED)
    chore.turn()
    assert len(runs(house)) == 2


@pytest.mark.parametrize("last", [Status.SUCCEEDED, Status.CANCELLED])
def test_failures_count_up_to_the_last_success(house, keep, last):
    """A cancelled run is no failure, and it does not end the failures either."""
    chore = keep(pause_after=3)
    for status in (Status.FAILED, last, Status.FAILED, Status.FAILED):
        chore.turn()
        end(house, runs(house)[-1], status)
        house.clock.advance(STEP_S)
    chore.turn()
    is_paused = house.store.schedules.get("nightly").paused_s is not None
    assert is_paused is (last is Status.CANCELLED)


def test_runs_that_are_refused_are_noted_and_the_schedule_continues(house, keep):
    chore = keep(REFUSED)
    house.clock.advance(1.0)
    chore.turn()
    (due,) = house.store.schedules.due_times(house.schedule_id, limit=9)
    assert (due.state, due.run_id) == (DueState.FAILED, None)
    assert 'no engine "elsewhere"' in due.reason
    assert house.store.schedules.get("nightly").next_s == DUE_S + STEP_S


def test_due_times_without_a_run_are_failures_too(house, keep):
    chore = keep(REFUSED, pause_after=2)
    for _ in range(3):
        chore.turn()
        house.clock.advance(STEP_S)
    assert house.store.schedules.get("nightly").paused_s is not None


def test_a_folder_of_another_machine_is_left_to_its_worker_for_a_while(house, keep, tmp_path):
    chore = keep(folder=str(tmp_path / "gone"))
    chore.turn()
    assert decided(house) == []
    assert house.store.schedules.owners() == []
    house.clock.advance(GRACE_S / 2 + 1)
    chore.turn()
    (due,) = house.store.schedules.due_times(house.schedule_id, limit=9)
    assert due.state is DueState.FAILED
    assert "there is no folder" in due.reason


def test_a_defect_stops_only_its_schedule(house, keep):
    chore = keep()
    house.store.schedules.add(a_schedule("broken", scheduling="x", next_s=DUE_S, ready_s=DUE_S - 1), TEXT)
    chore.turn()
    assert len(runs(house)) == 1
    assert house.store.schedules.get("broken").ready_s == DUE_S + scheduler.DEFECT_S


def test_runs_that_cannot_be_made_because_of_a_defect_are_a_failure(house, keep):
    keep()

    def broken(*_):
        raise ZeroDivisionError("no")

    Scheduler(house.store.schedules, house.world, default_engine="fake", make_runs=broken).turn()
    (due,) = house.store.schedules.due_times(house.schedule_id, limit=9)
    assert (due.state, due.reason) == (DueState.FAILED, "ZeroDivisionError: no")


def test_after_a_database_error_the_schedule_is_decided_again(house, keep, monkeypatch):
    chore = keep()

    def refuse(*_, **__):
        raise StoreError("the database does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(house.store.schedules, "apply", refuse)
        with pytest.raises(StoreError):
            chore.turn()
    assert runs(house) == []
    chore.turn()
    assert len(runs(house)) == 1


def test_a_matrix_is_a_family_with_the_schedule_as_parent(house, keep):
    chore = keep(TEXT + '[matrix]\n"env.vars.N" = ["1", "2"]\n')
    chore.turn()
    first, second = runs(house)
    assert first.family_id == second.family_id is not None
    assert first.id < second.id
    house.clock.advance(STEP_S)
    end(house, first)
    chore.turn()
    assert decided(house)[-1] == (300, DueState.SKIPPED), "one of its cells is not final"


def test_two_schedulers_make_the_same_ids(house, keep):
    """So a decision that is made twice cannot store two runs."""
    chore = keep()
    schedule = house.store.schedules.get("nightly")
    first, again = (chore._runs_of(schedule, TEXT, DUE_S) for _ in range(2))
    assert [run.id for run, _ in first.runs] == [run.id for run, _ in again.runs]
    assert first.runs[0][0].id != chore._runs_of(schedule, TEXT, DUE_S + 1).runs[0][0].id


def test_a_time_that_the_clock_skips_starts_once(house, keep):
    zone = ZoneInfo("Europe/Berlin")
    night_s = datetime(2024, 3, 31, 0, 0, tzinfo=zone).timestamp()
    change_s = datetime(2024, 3, 31, 3, 0, tzinfo=zone).timestamp()
    house.clock.jump(night_s - house.clock.now_s())
    chore = keep(scheduling="15,45 2 * * *", timezone="Europe/Berlin", next_s=change_s, ready_s=change_s)
    for _ in range(24):
        house.clock.advance(3600.0)
        chore.turn()
        for run in runs(house):
            end(house, run)
    assert [offset + DUE_S for offset, state in decided(house)] == [change_s]


def test_a_paused_schedule_starts_nothing(house, keep):
    chore = keep()
    stored = house.store.schedules.get("nightly")
    house.store.schedules.change(Decision(after=replace(stored, paused_s=DUE_S, ready_s=None)))
    assert chore.turn() is None
    assert runs(house) == []
