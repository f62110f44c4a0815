"""The one loop: what is due is asked about, and the answer is applied or dropped."""

from dataclasses import replace
from threading import Event

import pytest

from anubis.model.alert import AlertState
from anubis.model.cause import Cause
from anubis.model.descriptor import OnContamination
from anubis.model.errors import FullError, NoCapacityError, PlugInError, StageError, StoreError
from anubis.model.hardware import Hardware
from anubis.model.run import Event as RunEvent
from anubis.model.run import Seen, Step
from anubis.model.status import Status
from anubis.pipeline.reconciler import MOST_CONFLICTS, Reconciler
from anubis.pipeline.stage_call import STAGES
from anubis.testing import FakeEngine, a_descriptor, a_run
from anubis.testing.contracts.engine import start
from anubis.wiring import WallClock
from support.alerts import an_alert


def add(house, *runs):
    house.runs.add([(run, "text") for run in runs], [])


def turn(reconciler, house, times=3):
    """Seconds in which the loop, the lease keeper and the stages of this reconciler do what they have to."""
    for _ in range(times):
        house.clock.advance(1.0)
        reconciler.held.keeper.turn()
        settle(reconciler, house)


def settle(reconciler, house):
    """Let all stages answer at once until nothing more is due; what the last turn returned."""
    wait_s = reconciler.turn()
    while house.threads.run():
        wait_s = reconciler.turn()
    return wait_s


def test_a_run_walks_from_submission_to_its_end(house, reconciler, leave_record):
    run = a_run()
    add(house, run)
    turn(reconciler, house)
    assert house.runs.get(run.id).status is Status.WATCH

    leave_record(run)
    house.engine.end(house.runs.get(run.id).placement)
    turn(reconciler, house)

    ended = house.runs.get(run.id)
    assert (ended.status, ended.cause) == (Status.SUCCEEDED, None)
    assert [event.kind for event in house.events.read(run.id)] == ["placed", "ended", "final"]
    assert {point.metric for point in house.points.of([run.id])} == {
        "wall_time",
        "cpu_time",
        "peak_memory",
        "peak_process_memory",
    }


def test_runs_wait_for_room_in_the_order_of_their_submission(house, reconciler, leave_record):
    house.engine.room = 1
    runs = [a_run() for _ in range(3)]
    add(house, *runs)
    order = []

    for _ in runs:
        turn(reconciler, house)
        [placed] = [run for run in runs if house.runs.get(run.id).status is Status.WATCH]
        order.append(placed.id)
        leave_record(placed)
        house.engine.end(house.runs.get(placed.id).placement)
        turn(reconciler, house)

    assert order == [run.id for run in runs]
    assert house.runs.unfinished() == 0


def test_a_run_of_higher_priority_goes_before_runs_that_wait_already(house, reconciler, leave_record):
    house.engine.room = 1
    waiting = [a_run() for _ in range(3)]
    add(house, *waiting)
    turn(reconciler, house)
    urgent = a_run(a_descriptor(priority=9))
    add(house, urgent)
    order = []

    for _ in range(4):
        turn(reconciler, house)
        [placed] = [run for run in (*waiting, urgent) if house.runs.get(run.id).status is Status.WATCH]
        order.append(placed.id)
        leave_record(placed)
        house.engine.end(house.runs.get(placed.id).placement)
        turn(reconciler, house)

    first, *others = [run.id for run in waiting]
    assert order == [first, urgent.id, *others]


def test_waiting_for_room_does_not_spin(house, reconciler):
    house.engine.room = 0
    add(house, *[a_run() for _ in range(5)])

    settle(reconciler, house)

    assert all(settle(reconciler, house) > 0 for _ in range(3))


def test_no_room_for_longer_than_asked_is_a_final_status(house, reconciler):
    house.engine.room = 0
    run = a_run(a_descriptor(hardware=Hardware(instance_type="local", max_wait_s=60)))
    add(house, run)

    turn(reconciler, house, times=70)

    ended = house.runs.get(run.id)
    assert (ended.status, ended.cause) == (Status.FAILED, Cause.NO_CAPACITY)
    assert "60 s" in ended.reason


def test_one_failing_run_never_fails_its_batch(house, reconciler):
    bad, good = a_run(), a_run()
    add(house, bad, good)
    house.engine.trouble = StageError("no such image", cause=Cause.IMAGE_PULL, remedy="push it")

    turn(reconciler, house)

    assert house.runs.get(bad.id).cause is Cause.IMAGE_PULL
    assert "push it" in house.runs.get(bad.id).reason
    assert house.runs.get(good.id).status is Status.WATCH


class WithoutTextError(Exception):
    def __str__(self):
        raise ZeroDivisionError


def test_a_stage_without_an_answer_is_asked_again_later(house, reconciler):
    run = a_run()
    add(house, run)
    house.engine.trouble = WithoutTextError()
    turn(reconciler, house)
    assert reconciler.held.busy == set()
    assert house.runs.get(run.id).status is Status.PLACE
    turn(reconciler, house, times=61)
    assert house.runs.get(run.id).status is Status.WATCH


def test_a_defect_in_a_stage_ends_its_run_with_a_named_cause(house, reconciler, monkeypatch):
    run = a_run()
    add(house, run)
    turn(reconciler, house)
    monkeypatch.setitem(STAGES, Status.COLLECT, lambda run, world: 1 / 0)
    house.engine.end(house.runs.get(run.id).placement)

    turn(reconciler, house)

    assert (house.runs.get(run.id).status, house.runs.get(run.id).cause) == (Status.FAILED, Cause.INTERNAL)


def test_an_engine_that_does_not_answer_is_unknown_not_gone(house, reconciler):
    run = a_run()
    add(house, run)
    turn(reconciler, house)
    house.engine.trouble = StoreError("away")

    turn(reconciler, house, times=1)

    assert house.runs.get(run.id).status is Status.WATCH


def test_a_run_whose_engine_was_removed_waits_with_a_reason_until_it_is_cancelled(house, reconciler):
    run = a_run()
    add(house, run)
    turn(reconciler, house)
    del house.world.engines["fake"]
    turn(reconciler, house)
    waiting = house.runs.get(run.id)

    house.runs.request_cancel([run.id], [RunEvent(run_id=run.id, kind="cancel_requested", time_s=0.0)])
    turn(reconciler, house)

    assert (waiting.status, waiting.reason) == (Status.WATCH, 'engine "fake" is not installed')
    assert house.runs.get(run.id).status is Status.CANCELLED


def test_a_run_on_another_machine_is_left_to_a_reconciler_there(
    house, reconciler, new_reconciler, leave_record
):
    run = a_run()
    add(house, run)
    turn(reconciler, house)
    name = house.runs.get(run.id).placement.name
    house.engine.elsewhere.add(name)

    turn(reconciler, house, times=1)
    assert house.leases.owners() == []
    assert house.runs.get(run.id).status is Status.WATCH

    house.engine.elsewhere.clear()
    leave_record(run)
    house.engine.end(house.runs.get(run.id).placement)
    turn(new_reconciler("there"), house, times=9)
    assert house.runs.get(run.id).status is Status.SUCCEEDED


def test_a_record_on_another_machine_is_never_taken_for_an_empty_one(
    house, reconciler, new_reconciler, leave_record
):
    run = a_run()
    add(house, run)
    turn(reconciler, house)
    placement = house.runs.get(run.id).placement
    ended = Step(status=Status.COLLECT)
    house.leases.apply("one", house.runs.get(run.id), ended, now_s=house.clock.now_s())
    reconciler.close()
    house.engine.elsewhere.add(placement.name)

    turn(new_reconciler("here"), house)

    assert house.runs.get(run.id).status is Status.COLLECT


def test_an_engine_that_does_not_answer_when_the_record_is_read_costs_no_measurement(
    house, reconciler, new_reconciler, leave_record
):
    run = a_run()
    add(house, run)
    turn(reconciler, house)
    leave_record(run)
    ended = Step(status=Status.COLLECT)
    placed = house.runs.get(run.id)
    house.leases.apply("one", placed, ended, now_s=house.clock.now_s())
    reconciler.close()
    house.engine.trouble = ConnectionError("the engine is away")
    turn(new_reconciler("two"), house, times=9)
    after = house.runs.get(run.id)
    assert (after.status, after.cause) == (Status.SUCCEEDED, None)


def test_a_lost_run_ends_with_its_cause(house, reconciler):
    run = a_run()
    add(house, run)
    turn(reconciler, house)
    house.engine.lose(house.runs.get(run.id).placement)

    turn(reconciler, house)

    ended = house.runs.get(run.id)
    assert (ended.status, ended.cause) == (Status.FAILED, Cause.LOST)
    assert "lost" in [event.kind for event in house.events.read(run.id)]


def test_a_run_cancelled_while_it_waits_never_starts(house, reconciler):
    house.engine.room = 0
    run = a_run()
    add(house, run)
    turn(reconciler, house)
    cancel(house, run)

    turn(reconciler, house)

    assert house.runs.get(run.id).status is Status.CANCELLED
    assert house.engine.launches == {}


def test_room_that_cancelling_frees_is_not_taken_by_a_run_that_was_cancelled_with_it(house, reconciler):
    house.engine.room = 1
    first, second = a_run(), a_run()
    add(house, first, second)
    turn(reconciler, house)
    cancel(house, first)
    cancel(house, second)
    house.engine.cancel(house.runs.get(first.id).placement)

    house.clock.advance(0.2)  # sooner than it would look for cancellations anyway
    settle(reconciler, house)
    settle(reconciler, house)

    assert len(house.engine.launches) == 1


def test_a_run_cancelled_while_it_runs_is_ended_and_keeps_its_record(house, reconciler, leave_record):
    run = a_run()
    add(house, run)
    turn(reconciler, house)
    leave_record(run, code=143, cause="cancelled", reason="The run was cancelled.")
    cancel(house, run)

    turn(reconciler, house)

    assert (house.runs.get(run.id).status, house.runs.get(run.id).cause) == (
        Status.CANCELLED,
        Cause.CANCELLED,
    )


def cancel(house, run):
    house.runs.request_cancel([run.id], [RunEvent(run_id=run.id, kind="cancel_requested", time_s=0.0)])


def test_what_was_placed_by_somebody_who_died_just_then_is_ended_when_cancelled(house, reconciler):
    """The store says that it waits for its place; the engine knows better."""
    run = a_run(status=Status.PLACE)
    add(house, run)
    placement = start(house.engine, run, ("true",))
    cancel(house, run)

    turn(reconciler, house)

    assert house.engine.seen[placement.name].seen is Seen.ENDED
    assert house.runs.get(run.id).status.final


def test_what_was_placed_by_somebody_who_died_just_then_does_not_wait_for_room(
    house, reconciler, monkeypatch
):
    run = a_run(a_descriptor(hardware=Hardware(instance_type="local", max_wait_s=60)))
    add(house, run)
    start(house.engine, run, ("true",))
    full = NoCapacityError("its agent holds the slot and has not shown itself yet", again_after_s=1.0)

    def place(self, *_):
        raise full

    monkeypatch.setattr(type(house.engine), "place", place)
    turn(reconciler, house, times=70)
    assert house.runs.get(run.id).status is Status.PLACE
    monkeypatch.undo()
    turn(reconciler, house)
    assert house.runs.get(run.id).status is Status.WATCH


@pytest.mark.parametrize("placed", [False, True])
def test_without_its_engine_a_run_harms_no_other_and_can_be_cancelled(house, reconciler, placed):
    """A plug-in was uninstalled while its runs were running."""
    other = FakeEngine()
    other.name = "other"
    house.world.engines["other"] = other
    gone, good = a_run(engine="other"), a_run()
    add(house, gone, good)
    if placed:
        turn(reconciler, house, times=1)
    del house.world.engines["other"]

    turn(reconciler, house)

    assert house.runs.get(good.id).status is Status.WATCH
    left = house.runs.get(gone.id)
    assert 'engine "other" is not installed' in left.reason
    if placed:
        assert left.status is Status.WATCH, "it may still run: unknown is not gone"
        cancel(house, gone)
        turn(reconciler, house)
        assert house.runs.get(gone.id).status is Status.CANCELLED
    else:
        assert left.status is Status.FAILED


class Broken(dict):
    """Engines of which one cannot be loaded any more."""

    def __getitem__(self, name):
        if name == "other":
            raise PlugInError('engine "other" cannot be loaded: ImportError: no library', remedy="update it")
        return super().__getitem__(name)

    def get(self, name, default=None):
        return default if name == "other" else super().get(name, default)


@pytest.mark.parametrize("placed", [False, True])
def test_an_engine_that_cannot_be_loaded_harms_only_its_runs_and_is_named(house, new_reconciler, placed):
    other = FakeEngine()
    other.name = "other"
    house.world.engines["other"] = other
    left, good = a_run(engine="other"), a_run()
    add(house, left, good)
    if placed:
        turn(new_reconciler("one"), house, times=1)
        house.clock.advance(60.0)
    house.world = replace(house.world, engines=Broken(house.world.engines))

    turn(new_reconciler("two"), house)

    assert house.runs.get(good.id).status is Status.WATCH
    assert "cannot be loaded: ImportError" in house.runs.get(left.id).reason
    assert house.runs.get(left.id).status is (Status.WATCH if placed else Status.FAILED)


def test_an_engine_that_cannot_cancel_stops_nobody(house, reconciler, monkeypatch, leave_record):
    run = a_run()
    add(house, run)
    turn(reconciler, house)

    def refuse(self, placement):
        raise OSError("read-only")

    monkeypatch.setattr(type(house.engine), "cancel", refuse)
    cancel(house, run)
    turn(reconciler, house)
    assert house.runs.get(run.id).status is Status.WATCH
    monkeypatch.undo()
    turn(reconciler, house)
    assert house.runs.get(run.id).status.final


def test_a_zombie_writes_nothing_after_its_lease_was_taken_over(house, new_reconciler, leave_record):
    run = a_run()
    add(house, run)
    zombie, heir = new_reconciler("zombie"), new_reconciler("heir")
    turn(zombie, house)
    leave_record(run)
    house.engine.end(house.runs.get(run.id).placement)
    house.clock.advance(100.0)  # it slept through its renewal
    settle(heir, house)

    settle(zombie, house)

    assert [event.kind for event in house.events.read(run.id)].count("final") == 1
    assert house.runs.get(run.id).status is Status.SUCCEEDED


def test_what_a_closed_reconciler_held_is_free_at_once(house, new_reconciler):
    run = a_run()
    add(house, run)
    first, second = new_reconciler("first"), new_reconciler("second")
    turn(first, house)
    first.close()

    settle(second, house)

    assert house.leases.owners() == ["second"]


@pytest.mark.parametrize(("refused", "cause"), [(MOST_CONFLICTS, None), (MOST_CONFLICTS + 1, Cause.INTERNAL)])
def test_a_stage_that_conflicts_for_ever_ends_its_run(house, reconciler, monkeypatch, refused, cause):
    run = a_run(status=Status.ANALYSE)
    add(house, run)
    calls, decide = [], STAGES[Status.ANALYSE]

    def analyse(run, world):
        calls.append(run)
        if len(calls) <= refused:
            return Step(status=Status.ALERT, alerts=(an_alert(version=7),))
        return decide(run, world)

    monkeypatch.setitem(STAGES, Status.ANALYSE, analyse)
    settle(reconciler, house)

    assert len(calls) == MOST_CONFLICTS + 1
    run = house.runs.get(run.id)
    assert (run.status.final, run.cause) == (True, cause)


def test_a_database_that_is_away_is_waited_for_and_told_once(house, reconciler, monkeypatch, caplog):
    away = StoreError("the database is away")
    answers = [away, away, 0.0, away, 0.0]
    turns = []

    def turn_once():
        turns.append(answers[len(turns)])
        if isinstance(turns[-1], StoreError):
            raise turns[-1]
        return turns[-1]

    monkeypatch.setattr(reconciler, "turn", turn_once)

    reconciler.drive(until=lambda: turns == answers)

    assert [wait for wait in house.clock.waits if wait] == [1.0, 1.0, 1.0]
    assert [record.message.partition(";")[0] for record in caplog.records] == ["the database is away"] * 2


def test_a_database_that_is_away_for_too_long_ends_the_driver_with_one_error(
    house, new_reconciler, monkeypatch
):
    """Each outage counts from its start: the first one ends in time."""
    reconciler = new_reconciler("me", patience_s=3.0)
    run = a_run()
    add(house, run)
    away = StoreError("the database is away", remedy="start it")
    answers = iter([away, away, 0.0, *[away] * 4])

    def turn_once():
        answer = next(answers)
        if isinstance(answer, StoreError):
            raise answer
        return answer

    def not_released(*_):
        raise StoreError("another error")

    monkeypatch.setattr(reconciler, "turn", turn_once)
    monkeypatch.setattr(house.store.leases, "release", not_released)

    with pytest.raises(StoreError) as caught:
        reconciler.drive(until=lambda: False)

    assert caught.value.message == ("the database is away (for 3 s); the runs remain stored and are not lost")
    assert caught.value.remedy == "start it; then continue the runs with anubis worker"
    assert list(answers) == []
    assert house.runs.get(run.id).status is not Status.SUCCEEDED


def test_a_condition_that_cannot_be_read_from_the_database_is_asked_again(house, reconciler):
    run = a_run()
    add(house, run)
    errors = [StoreError("the database is away"), StoreError("the database is away")]

    def until():
        if errors:
            raise errors.pop()
        return house.runs.get(run.id).status is Status.WATCH

    house.clock.meanwhile = lambda: [house.threads.run(name) for name in ("stage", "watch")]
    reconciler.drive(until)

    assert house.runs.get(run.id).status is Status.WATCH


@pytest.mark.parametrize("policy", ["void", "fail", "keep"])
def test_disturbed_repeats(house, reconciler, leave_record, monkeypatch, policy):
    descriptor = a_descriptor()
    run = a_run(
        replace(
            descriptor,
            measure=replace(descriptor.measure, repeats=2, on_contamination=OnContamination(policy)),
        )
    )
    add(house, run)
    turn(reconciler, house)
    monkeypatch.setattr(
        "anubis.record.reading.Record.disturbances", lambda self, one: ("steal",) if one.repeat == 0 else ()
    )
    for attempt in (1, 2, 3):
        current = house.runs.get(run.id)
        if current.status is Status.WATCH and current.attempt == attempt:
            leave_record(current, repeats=2)
            house.engine.end(current.placement)
            turn(reconciler, house)

    ended = house.runs.get(run.id)
    points = house.points.of([run.id])
    assert (
        ended.attempt,
        ended.status,
        ended.cause,
        sorted({(p.count, p.contaminated) for p in points}),
    ) == {
        "void": (3, Status.SUCCEEDED, None, [(1, False)]),
        "fail": (1, Status.FAILED, Cause.CONTAMINATED, []),
        "keep": (1, Status.SUCCEEDED, None, [(2, True)]),
    }[policy]


def test_stages_of_one_engine_wait_for_one_another_while_they_are_quick(house, reconciler):
    add(house, a_run(), a_run())

    reconciler.turn()

    assert house.threads.names == ["stage fake"]


def test_a_slow_stage_holds_up_the_next_one_for_a_moment_only(house, reconciler):
    add(house, a_run(), a_run())
    reconciler.turn()

    house.clock.advance(1.0)
    reconciler.turn()

    assert house.threads.names == ["stage fake"] * 2


def test_a_stage_of_one_engine_does_not_hold_up_those_of_another(house, reconciler):
    other = FakeEngine()
    other.name = "other"
    house.world.engines["other"] = other
    add(house, a_run(), a_run(engine="other"))

    reconciler.turn()

    assert house.threads.names == ["stage fake", "stage other"]


def test_a_placement_is_looked_at_less_often_the_older_it_is_by_the_monotonic_clock(house, reconciler):
    add(house, a_run())
    settle(reconciler, house)
    young = len(house.clock.waits)
    turn(reconciler, house, times=100)
    house.clock.jump(-100.0)
    house.clock.waits.clear()

    turn(reconciler, house, times=1)

    assert young > 5
    assert house.clock.waits == []


def test_a_cancelled_run_is_looked_at_at_once_however_long_it_has_run(house, reconciler):
    run = a_run()
    add(house, run)
    settle(reconciler, house)
    turn(reconciler, house, times=100)
    cancel(house, run)
    house.clock.advance(0.25)

    settle(reconciler, house)

    assert house.runs.get(run.id).status.final


def test_watching_in_progress_ends_when_another_run_was_placed(house, reconciler):
    first, second = a_run(), a_run()
    add(house, first)
    reconciler.turn()
    while house.threads.names != ["watch fake"]:
        house.threads.run()
        reconciler.turn()
    end = house.threads.hang()
    add(house, second)
    settle_after(reconciler, house, 0.25)
    house.clock.waits.clear()
    end()

    settle(reconciler, house)

    assert house.clock.waits[0] < 0.01, "the call that began before the second run was placed stopped at once"
    assert {house.runs.get(run.id).status for run in (first, second)} == {Status.WATCH}


def settle_after(reconciler, house, seconds):
    house.clock.advance(seconds)
    settle(reconciler, house)


def test_a_stage_that_meets_a_database_that_is_away_is_asked_again(house, reconciler, caplog):
    run = a_run(status=Status.PLACE)
    add(house, run)
    house.engine.trouble = StoreError("the database is away")
    settle(reconciler, house)
    assert house.runs.get(run.id).status is Status.PLACE

    turn(reconciler, house, times=1)

    assert house.runs.get(run.id).status is Status.WATCH
    assert caplog.text.count("the database is away") == 1


def test_without_a_thread_a_stage_is_tried_again(house, new_reconciler):
    refused = []

    def start(name, work):
        if len(refused) < 3:
            refused.append(name)
            raise RuntimeError("can't start new thread")
        house.threads(name, work)

    reconciler = new_reconciler("one", start=start)
    run = a_run()
    add(house, run)

    turn(reconciler, house, times=9)

    assert house.runs.get(run.id).status is Status.WATCH


class Chore:
    name = "a chore"

    def __init__(self, again_after_s=None):
        self.turns = 0
        self.again_after_s = again_after_s

    def turn(self):
        self.turns += 1
        return self.again_after_s


def driven(house, new_reconciler, chore, until):
    """A reconciler that drove until the condition held, all its threads ending while it waits."""
    reconciler = new_reconciler("one", chores=[chore])
    house.clock.meanwhile = lambda: [house.threads.run(name) for name in ("stage", "watch", "a chore")]
    reconciler.drive(until)
    return reconciler


def test_chores_have_a_last_turn_when_the_runs_are_final(house, new_reconciler):
    chore = Chore()
    reconciler = driven(house, new_reconciler, chore, lambda: True)
    assert (chore.turns, reconciler.chores.outstanding) == (1, False)


def test_what_a_chore_could_not_do_is_known_at_the_end(house, new_reconciler):
    assert driven(house, new_reconciler, Chore(30.0), lambda: True).chores.outstanding


def test_a_chore_that_hangs_stalls_neither_runs_nor_the_end(house, new_reconciler):
    run = a_run()
    add(house, run)
    reconciler = new_reconciler("one", chores=[Chore()])
    house.clock.meanwhile = lambda: [house.threads.run(name) for name in ("stage", "watch")]

    reconciler.drive(lambda: house.runs.get(run.id).status is Status.WATCH)

    assert "a chore" in house.threads.names
    assert reconciler.chores.outstanding
    assert house.leases.owners() == []


def test_a_step_that_concerns_alerts_gives_chores_a_turn_at_once(
    house, reconciler, new_reconciler, leave_record
):
    before, run = a_run(), a_run()
    add(house, before)
    turn(reconciler, house, times=7)
    leave_record(before)
    house.engine.end(house.runs.get(before.id).placement)
    turn(reconciler, house, times=7)
    add(house, run)
    reconciler.close()
    chore = Chore()
    reconciler = new_reconciler("one", chores=[chore])
    turn(reconciler, house, times=7)
    before = chore.turns
    leave_record(run, code=1, cause="user_error", reason="it failed")
    house.engine.end(house.runs.get(run.id).placement)

    settle_after(reconciler, house, 0.9)

    assert house.world.alerts.find()
    assert chore.turns > before


def test_with_threads_of_the_system_a_stage_that_hangs_stops_neither_other_runs_nor_the_end(
    house, monkeypatch
):
    monkeypatch.setattr("anubis.pipeline.stage_pool.SLOW_S", 0.0)
    monkeypatch.setattr("anubis.pipeline.reconciler.CLOSE_S", 0.0)
    hanging, other = a_run(), a_run()
    add(house, hanging, other)
    place, begun, end = house.engine.place, Event(), Event()

    def slow_place(run, bundle):
        if run.id == hanging.id:
            begun.set()
            end.wait()
        return place(run, bundle)

    monkeypatch.setattr(house.engine, "place", slow_place)
    reconciler = Reconciler(replace(house.world, clock=WallClock()), "one")

    reconciler.drive(lambda: begun.is_set() and house.runs.get(other.id).status is Status.WATCH)

    assert house.leases.owners() == ["one"]
    assert house.runs.get(hanging.id).status is Status.PLACE
    end.set()


def test_a_decision_of_a_person_during_a_stage_is_kept(house, reconciler):
    run = a_run(a_descriptor("bench"), status=Status.ALERT)
    stored = an_alert(benchmark="bench", run_id=run.id)
    house.store.alerts.put([stored], [])
    add(house, run)
    reconciler.turn()
    house.threads.run()  # the stage has answered; the loop has not applied it
    acknowledged = replace(stored, state=AlertState.ACKNOWLEDGED, actor="me", version=1)
    house.store.alerts.put([acknowledged], [])
    settle(reconciler, house)
    assert house.runs.get(run.id).status is Status.SUCCEEDED
    [after] = house.store.alerts.find()
    assert (after.state, after.actor, after.told) == (AlertState.ACKNOWLEDGED, "me", None)


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_a_wall_clock_that_jumps_neither_ends_nor_extends_a_wait_for_capacity(house, reconciler, jump_s):
    house.engine.room = 0
    add(house, run := a_run(a_descriptor(hardware=Hardware(instance_type="local", max_wait_s=60.0))))
    turn(reconciler, house)
    house.clock.jump(jump_s)
    turn(reconciler, house, times=50)
    assert house.runs.get(run.id).status is Status.PLACE
    turn(reconciler, house, times=20)
    assert house.runs.get(run.id).cause is Cause.NO_CAPACITY


def test_a_clock_that_is_set_back_delays_no_run_of_a_new_driver(house, new_reconciler, leave_record):
    first, second = new_reconciler("first"), new_reconciler("second")
    add(house, run := a_run())
    turn(first, house)
    house.clock.jump(-3600.0)
    turn(second, house)
    leave_record(run)
    house.engine.end(house.runs.get(run.id).placement)
    turn(second, house)
    assert house.runs.get(run.id).status is Status.SUCCEEDED


def test_a_view_that_breaks_stops_no_driver(house, new_reconciler):
    reconciler = new_reconciler("one", changed=lambda run: 1 / 0)
    add(house, first := a_run(), second := a_run())
    turn(reconciler, house)
    assert [house.runs.get(run.id).status for run in (first, second)] == [Status.WATCH] * 2


def test_an_answer_that_cannot_be_applied_affects_no_other_run(house, reconciler, monkeypatch):
    add(house, bad := a_run(), good := a_run())
    fetch = STAGES[Status.FETCH]
    monkeypatch.setitem(
        STAGES, Status.FETCH, lambda run, world: None if run.id == bad.id else fetch(run, world)
    )
    turn(reconciler, house)
    assert house.runs.get(good.id).status is Status.WATCH
    assert house.runs.get(bad.id).status is Status.FETCH


def test_a_driver_does_not_wait_forever_for_a_disk_that_a_stage_cannot_write(
    house, new_reconciler, monkeypatch, caplog
):
    """The database may answer meanwhile: the disk may be full for large files only, or be that of the records."""
    reconciler = new_reconciler("me", patience_s=20.0)
    run = a_run()
    add(house, run)
    monkeypatch.setitem(STAGES, Status.FETCH, lambda run, world: _raise(FullError("the disk is full")))
    house.clock.meanwhile = lambda: house.threads.run("stage fake")
    with pytest.raises(FullError, match=r"the disk is full \(for 20 s\)"):
        reconciler.drive(until=lambda: False)
    assert caplog.text.count("the disk is full; trying again every 1 s for up to 20 s") == 1


def test_the_wait_for_a_disk_counts_from_its_last_failure(house, new_reconciler, monkeypatch):
    reconciler = new_reconciler("me", patience_s=20.0)
    run = a_run()
    add(house, run)
    outcomes = [*[FullError("full")] * 12, None, *[FullError("full")] * 12, None]

    def fetch(run, world):
        if error := outcomes.pop(0) if outcomes else None:
            raise error
        return Step(status=Status.FETCH, again_after_s=1.0)

    monkeypatch.setitem(STAGES, Status.FETCH, fetch)
    house.clock.meanwhile = lambda: house.threads.run("stage fake")
    reconciler.drive(until=lambda: not outcomes)


def _raise(error):
    raise error
