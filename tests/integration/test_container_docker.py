"""Engine ``container`` on a real Docker daemon: the contract of engines, and a daemon that is killed."""

import pytest

from anubis.engines.container import ContainerEngine, ContainerSettings
from anubis.model.cause import Cause
from anubis.model.errors import NotReadyError, StageError
from anubis.model.hardware import Hardware
from anubis.model.run import Seen
from anubis.testing import a_descriptor, a_run
from anubis.testing.contracts.engine import ReplicasContract, start
from support.docker import docker  # noqa: F401  a fixture
from support.engines import HostEngineContract, facts_of, folders, seen
from support.podman import IMAGE
from support.processes import until


@pytest.fixture
def engine(docker, tmp_path):  # noqa: F811
    settings = ContainerSettings(**folders(tmp_path), min_free_bytes=0, tool="docker", network="none")
    made = ContainerEngine(settings)
    yield made
    made._tool.wait()
    assert docker("ps", "--all", "--quiet") == ""


@pytest.fixture
def run():
    return a_run(engine="container")


class TestDockerEngine(HostEngineContract):
    """See anubis.testing.contracts.engine."""

    image = IMAGE


class TestReplicasOfTheDockerEngine(ReplicasContract):
    """See anubis.testing.contracts.engine."""

    ended = HostEngineContract.ended
    image = IMAGE


def test_the_limits_are_set_and_the_memory_limit_ends_the_benchmark(engine):
    hardware = {"cpus": 0.5, "memory_gb": 0.0625}
    run = a_run(a_descriptor(hardware=Hardware(instance_type="local", **hardware)), engine="container")
    command = ("dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1")
    placement = start(engine, run, command, image=IMAGE, **hardware)
    assert seen(engine, placement, Seen.ENDED).cause is Cause.OUT_OF_MEMORY
    facts = facts_of(placement)
    assert (facts["cpu"]["limit"], facts["memory"]["limit_bytes"]) == (0.5, 64 << 20)
    assert (facts["container"], facts["image"]["digest"][:7]) == ("docker", "sha256:")


def test_a_daemon_that_is_killed_delays_runs_and_loses_none(engine, run, docker):  # noqa: F811
    placement = start(engine, run, ("sleep", "60"), image=IMAGE)
    docker.kill()
    try:
        assert engine.observe([placement])[placement.name].seen is Seen.RUNNING
        engine.cancel(placement)
        with pytest.raises(NotReadyError, match="does not respond"):
            start(engine, a_run(engine="container"), ("true",), image=IMAGE)
    finally:
        docker.start()
    engine._containers._sent_s.clear()  # the next repetition of the cancellation is due
    engine.cancel(placement)
    assert seen(engine, placement, Seen.ENDED).cause is Cause.CANCELLED
    engine._tool.wait()
    other = start(engine, a_run(engine="container"), ("true",), image=IMAGE)
    assert seen(engine, other, Seen.ENDED).exit_code == 0


def test_a_registry_that_is_away(engine, run):
    image = "127.0.0.1:1/team/benchmark:1"

    def refused():
        try:
            start(engine, run, ("true",), image=image)
        except NotReadyError:
            return None
        except StageError as error:
            return error

    assert until(refused, "the pull has failed").cause is Cause.IMAGE_PULL
