"""The environment that a run is placed with."""

from dataclasses import replace

import pytest

from anubis.contracts.environments import SubmittedEnvironment
from anubis.contracts.records import RecordKey
from anubis.model.descriptor import Measure, OnContamination
from anubis.model.status import Status
from anubis.pipeline.run_environment import environment_of, is_needed_no_more
from anubis.record.environment import content
from anubis.settings import Settings
from anubis.submission.environment.handover import HomeEnvironments
from anubis.submission.environment.summary import summary
from anubis.testing import a_descriptor, a_placement, a_run


@pytest.fixture
def world(house, tmp_path):
    """This process has one variable that decides what is measured, and another one."""
    settings = Settings.from_env({"ANUBIS_HOME": str(tmp_path)})
    here = {"OMP_NUM_THREADS": "here", "COLOUR": "blue"}
    return replace(house.world, environments=HomeEnvironments(settings, here))


def record(world, run, threads, *, attempt=1):
    variables = {"OMP_NUM_THREADS": threads, "COLOUR": "red"}
    kept = summary(variables, secrets=[], described=[], digest=world.environments.digest)
    world.records.replace(RecordKey(run.id, attempt), "environment.json", content(kept))


def threads_of(run, world):
    environment, about = environment_of(run, world)
    return environment.variables["OMP_NUM_THREADS"], about


def test_the_environment_of_the_submitter_is_used_first(world):
    run = a_run(attempt=2)
    record(world, run, "recorded")
    world.environments.hand_over([run.id], SubmittedEnvironment(variables={"OMP_NUM_THREADS": "submitted"}))
    assert threads_of(run, world) == ("submitted", "")


def test_without_it_the_timeline_says_so(world):
    threads, about = threads_of(a_run(), world)
    assert threads == "here"
    assert "not available" in about


def test_a_later_attempt_repeats_the_environment_of_the_one_before(world):
    run = a_run(attempt=3)
    record(world, run, "first", attempt=1)
    record(world, run, "second", attempt=2)
    threads, about = threads_of(run, world)
    assert threads == "second"
    assert "attempt 2" in about
    assert "COLOUR" in about


def test_a_confirming_run_repeats_the_environment_of_the_run_with_its_descriptor(world):
    baseline, contender = a_run(a_descriptor(command="old")), a_run(a_descriptor(command="new"))
    world.runs.add([(baseline, ""), (contender, "")], [])
    record(world, baseline, "baseline")
    record(world, contender, "contender")
    for side, threads in ((baseline, "baseline"), (contender, "contender")):
        again = replace(a_run(side.descriptor), parent_id=contender.id, created_s=side.created_s + 60)
        assert threads_of(again, world)[0] == threads


def test_an_unrelated_run_is_not_repeated(world):
    other = a_run()
    world.runs.add([(other, "")], [])
    record(world, other, "other")
    assert threads_of(a_run(), world)[0] == "here"
    assert threads_of(a_run(a_descriptor(command="x"), parent_id=other.id), world)[0] == "here"


def test_it_is_needed_until_the_last_placement():
    run = a_run(status=Status.PLACE)
    placed = replace(run, placement=a_placement(run), status=Status.WATCH)
    assert not is_needed_no_more(run)
    assert is_needed_no_more(placed)
    assert is_needed_no_more(replace(run, status=Status.CANCELLED))
    void = a_descriptor(measure=Measure(on_contamination=OnContamination.VOID))
    assert not is_needed_no_more(replace(placed, descriptor=void))
    assert is_needed_no_more(replace(placed, descriptor=void, status=Status.FAILED))
