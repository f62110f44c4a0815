"""Runs that wait for other runs."""

import pytest

from anubis.model.cause import Cause
from anubis.model.status import Phase, Status
from anubis.pipeline import needed_runs
from anubis.testing.builders import a_descriptor, a_run
from anubis.testing.contracts.runs import added, finished
from anubis.testing.memory_store import FakeStore
from anubis.testing.worlds import a_world


@pytest.fixture
def store():
    return FakeStore()


@pytest.fixture
def world(store):
    return a_world(store)


def test_a_run_without_needs_does_not_wait():
    assert not needed_runs.is_waiting(a_run())


def test_a_waiting_run_names_what_it_waits_for(store, world):
    needed = added(store, a_run(a_descriptor("build")))
    run = a_run(needs=(needed.id,))
    step = needed_runs.wait(run, world, 0.0)
    assert (step.status, step.phase) == (run.status, Phase.NEEDS)
    assert "build" in step.reason
    assert needed_runs.wait(run, world, 1e9).again_after_s == needed_runs.LATEST_S


def test_it_starts_when_they_have_succeeded_and_its_limits_count_from_then(store, world):
    needed = finished(store, a_run())
    assert needed_runs.wait(a_run(needs=(needed.id,)), world, 0.0) is None
    step = needed_runs.wait(a_run(needs=(needed.id,), phase=Phase.NEEDS, phase_s=1.0), world, 0.0)
    assert step.phase in {Phase.FETCH, Phase.QUEUE}


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
def test_it_ends_when_one_of_them_has_not_succeeded(store, world, status):
    needed = finished(store, a_run(), status=status, cause=Cause.TIMEOUT)
    step = needed_runs.wait(a_run(needs=(needed.id,)), world, 0.0)
    assert (step.status, step.cause) == (Status.FAILED, Cause.NEED)
    assert f"has ended as {status.value} (timeout)" in step.reason


def test_it_ends_when_one_of_them_was_purged(world):
    step = needed_runs.wait(a_run(needs=("01234567-89ab-7000-8000-000000000001",)), world, 0.0)
    assert step.cause is Cause.NEED
    assert "purged" in step.reason


def test_a_later_attempt_does_not_wait_again():
    assert not needed_runs.is_waiting(a_run(needs=("x",), attempt=2))
    assert not needed_runs.is_waiting(a_run(needs=("x",), phase=Phase.QUEUE))
