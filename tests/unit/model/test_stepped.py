import pytest

from anubis.model.cause import Cause
from anubis.model.run import Step, stepped
from anubis.model.status import Status
from anubis.testing import a_placement, a_run

NOW_S = 2e9


def test_a_run_is_placed_once():
    run = a_run()
    placed = stepped(run, Step(status=Status.WATCH, placement=a_placement(run)), now_s=NOW_S)
    assert placed.placed_s == NOW_S
    moved = stepped(placed, Step(status=Status.WATCH, placement=a_placement(run, host="b")), now_s=NOW_S + 1)
    assert (moved.placed_s, moved.placement.details) == (NOW_S, {"host": "b"})


def test_a_step_without_a_placement_keeps_it():
    run = a_run(placement=a_placement(a_run()), placed_s=1.0)
    after = stepped(run, Step(status=Status.COLLECT), now_s=NOW_S)
    assert (after.placement, after.placed_s) == (run.placement, 1.0)


@pytest.mark.parametrize("status", list(Status))
def test_only_a_final_run_has_ended(status):
    assert stepped(a_run(), Step(status=status), now_s=NOW_S).ended_s == (NOW_S if status.final else None)


def test_a_reason_belongs_to_its_status():
    run = a_run(status=Status.WATCH, reason="pulling the image")
    assert stepped(run, Step(status=Status.WATCH), now_s=NOW_S).reason == "pulling the image"
    assert stepped(run, Step(status=Status.COLLECT), now_s=NOW_S).reason == ""
    assert (
        stepped(run, Step(status=Status.COLLECT, reason="exit code 1"), now_s=NOW_S).reason == "exit code 1"
    )


def test_a_cause_stays_until_the_run_succeeds_or_begins_anew():
    run = a_run(status=Status.COLLECT, cause=Cause.LOST)
    assert stepped(run, Step(status=Status.FAILED), now_s=NOW_S).cause is Cause.LOST
    assert stepped(run, Step(status=Status.FAILED, cause=Cause.DATA), now_s=NOW_S).cause is Cause.DATA
    assert stepped(run, Step(status=Status.SUCCEEDED), now_s=NOW_S).cause is None
    assert stepped(run, Step(status=Status.PLACE, next_attempt=True), now_s=NOW_S).cause is None


def test_a_new_attempt_forgets_where_the_old_one_was():
    run = a_run(placement=a_placement(a_run()), placed_s=1.0)
    after = stepped(run, Step(status=Status.PLACE, next_attempt=True, again_after_s=2.0), now_s=NOW_S)
    assert (after.attempt, after.placement, after.placed_s, after.due_s) == (2, None, None, NOW_S + 2)
