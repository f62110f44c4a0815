"""Runs and their environments are stored together or not at all."""

from dataclasses import replace

import pytest

from anubis.model.descriptor import Env
from anubis.model.errors import BadInputError, NotFoundError, StoreError
from anubis.settings import Settings
from anubis.submission.environment import adding
from anubis.submission.environment.handover import HomeEnvironments
from anubis.testing import a_descriptor, a_run, an_event


@pytest.fixture
def world(house, tmp_path):
    environ = {"COLOUR": "red", "A_TOKEN": "0123456789", "ANUBIS_SECRET_ONE": "value one"}
    settings = Settings.from_env({"ANUBIS_HOME": str(tmp_path)})
    return replace(house.world, environments=HomeEnvironments(settings, environ))


def test_each_run_gets_what_its_descriptor_names(world):
    plain = a_run()
    naming = a_run(a_descriptor(env=Env(inherit=("A_TOKEN",))))
    secret = a_run(a_descriptor(env=Env(vars={"A": "secret:ONE"})))
    adding.add(world, [(run, "") for run in (plain, naming, secret)], [an_event(plain)])
    first, second, third = (world.environments.handed_over(run.id) for run in (plain, naming, secret))
    assert (first.variables, first.secrets) == ({"COLOUR": "red"}, {})
    assert second.variables == {"COLOUR": "red", "A_TOKEN": "0123456789"}
    assert third.secrets == {"ONE": "value one"}
    assert len(world.events.read(plain.id)) == 1


def test_nothing_is_stored_if_an_environment_cannot_be_provided(world, tmp_path):
    good, bad = a_run(), a_run(a_descriptor(env=Env(vars={"A": "secret:TWO"})))
    with pytest.raises(BadInputError):
        adding.add(world, [(good, ""), (bad, "")], [])
    assert not list(tmp_path.rglob("*.json"))
    with pytest.raises(NotFoundError):
        world.runs.get(good.id)


def test_no_environment_is_left_if_the_database_does_not_answer(world, tmp_path):
    class Away:
        def add(self, runs, events, *, keyed=None):
            raise StoreError("the database is away")

    with pytest.raises(StoreError):
        adding.add(replace(world, runs=Away()), [(a_run(), "")], [])
    assert not list(tmp_path.rglob("*.json"))


def test_a_given_environment_replaces_that_of_the_process(world):
    run = a_run()
    given = replace(world.environments.current(run.descriptor, run.project), variables={"COLOUR": "blue"})
    adding.add(world, [(run, "")], [], environment=given)
    assert world.environments.handed_over(run.id) == given


def test_a_run_without_a_record_cannot_be_repeated(world):
    assert adding.repeated(world, a_run(), 1) is None
