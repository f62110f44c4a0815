"""A stage's thread always hands in an answer for each run."""

from dataclasses import replace
from threading import Event

import pytest

from anubis.model.cause import Cause
from anubis.model.errors import (
    AnubisError,
    ElsewhereError,
    NoCapacityError,
    NotReadyError,
    RevokedError,
    StageError,
    StoreError,
)
from anubis.model.hardware import Hardware
from anubis.model.run import Observation, Seen, Step
from anubis.model.status import Status
from anubis.pipeline.stage_call import PATIENT_S, ask, observe
from anubis.pipeline.stages import watch
from anubis.pipeline.stages.watch import Pause
from anubis.testing import a_descriptor, a_run


def answer(run, world):
    (one,) = ask(run, world, 0.0).values()
    return one


def watched(house, count=1):
    """Runs that were placed and are watched."""
    runs = [a_run(status=Status.WATCH) for _ in range(count)]
    return [replace(run, placement=house.engine.place(run, None)) for run in runs]


def look(house, runs, stop=None):
    now_s = house.clock.monotonic_s()
    return observe("fake", {run.id: now_s for run in runs}, runs, house.world, stop or Event())


@pytest.mark.parametrize("error", [StoreError("away"), NoCapacityError("full", again_after_s=1.0)])
def test_what_passes_is_answered_as_it_is(house, error):
    house.engine.trouble = error
    assert answer(a_run(status=Status.PLACE), house.world) is error


def test_what_only_another_machine_can_see_is_left_to_it(house):
    house.engine.trouble = ElsewhereError("not here")
    assert answer(a_run(status=Status.PLACE), house.world) == Pause(elsewhere=True)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (StageError("no image", cause=Cause.IMAGE_PULL), Cause.IMAGE_PULL),
        (AnubisError("wrong"), Cause.USER_ERROR),
        (ZeroDivisionError("a defect"), Cause.INTERNAL),
        (SystemExit("a plug-in that exits"), Cause.INTERNAL),
    ],
)
def test_what_does_not_pass_fails_the_run(house, error, cause):
    house.engine.trouble = error
    step = answer(a_run(status=Status.PLACE), house.world)
    assert (step.status, step.cause) == (Status.ANALYSE, cause)


def test_a_cancelled_run_that_was_never_placed_is_final(house):
    step = answer(a_run(status=Status.PLACE, cancel_requested=True), house.world)
    assert (step.status, house.engine.launches) == (Status.CANCELLED, {})


def test_watching_goes_on_while_nothing_happens_but_not_for_long(house):
    runs = watched(house)
    before_s = house.clock.monotonic_s()

    (pause,) = look(house, runs).values()

    assert isinstance(pause, Pause)
    assert pause.again_after_s > 0
    assert len(house.clock.waits) > 5
    assert house.clock.monotonic_s() - before_s <= PATIENT_S


def test_watching_ends_with_the_first_news_and_answers_for_all(house):
    first, second = runs = watched(house, 2)
    house.clock.meanwhile = lambda: house.engine.end(first.placement)

    answers = look(house, runs)

    assert answers[first.id].status is Status.COLLECT
    assert isinstance(answers[second.id], Pause)
    assert len(house.clock.waits) == 1


def test_watching_ends_when_it_is_told_to(house):
    stop = Event()
    house.clock.meanwhile = stop.set

    look(house, watched(house), stop)

    assert len(house.clock.waits) == 1


def test_old_placements_are_not_looked_at_as_often_as_new_ones(house, monkeypatch):
    old, new = runs = watched(house, 2)
    now_s, seen = house.clock.monotonic_s(), []
    monkeypatch.setattr(
        "anubis.pipeline.stages.watch.watch",
        lambda engine, runs, world, waited_s: seen.append(len(runs)) or {run.id: Pause() for run in runs},
    )

    observe("fake", {old.id: now_s - 100.0, new.id: now_s}, runs, house.world, Event())

    assert seen[0] == 2
    assert set(seen[1:]) == {1}


@pytest.mark.parametrize("error", [ZeroDivisionError(), SystemExit()])
def test_an_engine_that_breaks_while_it_is_asked_is_unknown_not_gone(house, error):
    (run,) = watched(house)
    house.engine.trouble = error
    assert look(house, [run]) == {run.id: Pause(again_after_s=1.0)}


def test_one_run_that_cannot_be_looked_at_harms_no_other(house, monkeypatch):
    bad, good = watched(house, 2)
    bad = replace(bad, cancel_requested=True)
    monkeypatch.setattr(type(house.engine), "cancel", lambda self, placement: 1 / 0)
    house.engine.end(good.placement)

    answers = look(house, [bad, good])

    assert isinstance(answers[bad.id], Pause)
    assert isinstance(answers[good.id], Step)


def test_a_run_that_makes_the_bulk_query_fail_hides_no_other(house, monkeypatch):
    bad, good = watched(house, 2)
    house.engine.end(good.placement)
    observe_all = house.engine.observe

    def observe_good(placements):
        if bad.placement in placements:
            raise ValueError("its data is damaged")
        return observe_all(placements)

    monkeypatch.setattr(house.engine, "observe", observe_good)
    answers = look(house, [bad, good])
    assert answers[bad.id] == Pause(again_after_s=1.0)
    assert answers[good.id].status is Status.COLLECT


def test_what_an_engine_prepares_is_the_reason_of_a_run_that_waits(house):
    hardware = Hardware(instance_type="local", max_wait_s=60.0)
    run = replace(a_run(a_descriptor(hardware=hardware), engine="fake"), status=Status.PLACE)
    house.engine.trouble = NotReadyError("pulling image: 3 of 7 layers", again_after_s=0.5)
    answer = ask(run, house.world, 59.0)[run.id]
    assert (answer.status, answer.reason, answer.again_after_s) == (
        Status.PLACE,
        "pulling image: 3 of 7 layers",
        0.5,
    )
    house.engine.trouble = NotReadyError("pulling image: 3 of 7 layers", again_after_s=0.5)
    answer = ask(run, house.world, 61.0)[run.id]
    assert (answer.cause, "3 of 7 layers" in answer.reason) == (Cause.NO_CAPACITY, True)


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_the_longest_wait_for_a_machine_is_measured_by_the_monotonic_clock(house, jump_s):
    hardware = Hardware(instance_type="local", max_wait_s=60.0)
    run = replace(watched(house)[0], descriptor=a_descriptor(hardware=hardware), placed_s=house.clock.now_s())
    house.engine.seen[run.placement.name] = Observation(seen=Seen.WAITING, reason="no machine yet")
    house.clock.jump(jump_s)
    answers = watch.watch("fake", [run], house.world, {run.id: 59.0})
    assert answers[run.id].status is Status.WATCH
    answers = watch.watch("fake", [run], house.world, {run.id: 61.0})
    assert answers[run.id].cause is Cause.NO_CAPACITY


def test_a_cancelled_run_that_was_never_placed_cannot_start_later(house):
    run = a_run(status=Status.PLACE, cancel_requested=True)
    assert answer(run, house.world).status is Status.CANCELLED
    with pytest.raises(RevokedError):
        house.engine.place(run, None)


def test_a_cancelled_run_that_was_placed_is_watched(house):
    run = a_run(status=Status.PLACE, cancel_requested=True)
    placement = house.engine.place(run, None)
    step = answer(run, house.world)
    assert (step.status, step.placement) == (Status.WATCH, placement)


def test_a_revoked_attempt_is_followed_by_the_next_one(house):
    run = a_run(status=Status.PLACE)
    house.engine.revoke(run)
    step = answer(run, house.world)
    assert (step.status, step.next_attempt) == (Status.PLACE, True)
    assert [event.kind for event in step.events] == ["revoked"]
