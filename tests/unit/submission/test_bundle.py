"""The roles of each strategy."""

import pytest

from anubis.model.descriptor import Env, Measure, Ml
from anubis.model.hardware import Distributed, Hardware, Strategy
from anubis.submission.bundle import MPI_WORKER, bundle_of
from anubis.testing import a_descriptor
from support.servers import PROBE, SERVER


def roles(strategy, *, instance_type="local", distributed=None, **changes):
    hardware = Hardware(instance_type=instance_type, strategy=strategy, distributed=distributed)
    bundle = bundle_of(a_descriptor(hardware=hardware, **changes))
    return [(role.name, role.replicas) for role in bundle.roles], bundle.roles


def test_a_single_node_has_one_role_with_everything_the_descriptor_asks_for():
    descriptor = a_descriptor(
        hardware=Hardware(instance_type="local", gpus=2, cpus=1.5, memory_gb=3.0),
        ml=Ml(benchmark_code="python 'a b.py'", args="--x 1"),
        env=Env(docker_image="image", vars={"A": "1"}, privileged=True, extended_shm=False),
        measure=Measure(repeats=3, timeout_s=9.0),
    )
    (role,) = bundle_of(descriptor, "/folder").roles
    assert (role.name, role.replicas) == ("benchmark", 1)
    assert role.command == ("python", "a b.py", "--x", "1")
    assert (role.gpus, role.cpus, role.memory_gb) == (2, 1.5, 3.0)
    assert (role.image, role.environment, role.privileged, role.extended_shm) == (
        "image",
        {"A": "1"},
        True,
        False,
    )
    assert role.measure == descriptor.measure


def test_without_a_command_the_image_decides():
    (role,) = bundle_of(a_descriptor(ml=Ml(), env=Env(docker_image="image"))).roles
    assert role.command == ()


def test_inference_starts_the_server_first():
    names, (server, benchmark) = roles(Strategy.INFERENCE, server=SERVER)
    assert names == [("server", 1), ("benchmark", 1)]
    assert server.command == ("serve", "--model", "a b", "--workers", "4")
    assert (server.ports, server.readiness_probe, server.liveness_probe) == ((8080, 8081), PROBE, PROBE)
    assert (server.environment, server.image, server.cpus, server.gpus) == ({"A": "1"}, "user/server", 3.0, 4)
    assert [metric.name for metric in server.metrics] == ["latency"]
    assert server.measure.repeats == 1
    assert server.measure.timeout_s > benchmark.measure.timeout_s


@pytest.mark.parametrize("strategy", [Strategy.MPI, Strategy.HOROVOD])
def test_the_launcher_of_mpi_runs_the_command_and_the_workers_wait(strategy):
    distributed = Distributed(num_instances=3, processes_per_instance="gpus")
    names, (worker, launcher) = roles(
        strategy, instance_type="p3.8xlarge", distributed=distributed, measure=Measure(repeats=5)
    )
    assert names == [("worker", 3), ("benchmark", 1)]
    assert (worker.command, worker.gpus, worker.processes) == (MPI_WORKER, 4, 4)
    assert (worker.is_service, launcher.is_service) == (True, False)
    assert (launcher.command, launcher.gpus, launcher.measure.repeats) == (("true",), None, 5)
    assert worker.measure.repeats == 1


def test_every_rank_of_torchrun_runs_the_command():
    distributed = Distributed(num_instances=3, processes_per_instance="2")
    names, (role,) = roles(Strategy.TORCHRUN, distributed=distributed, measure=Measure(repeats=5))
    assert names == [("benchmark", 3)]
    assert (role.command, role.measure.repeats, role.processes, role.is_service) == (("true",), 5, 2, False)


def test_a_parameter_server_runs_the_command_of_the_benchmark_or_its_own():
    distributed = Distributed(num_instances=3)
    names, (server, worker) = roles(
        Strategy.PARAMETER_SERVER, distributed=distributed, measure=Measure(repeats=5)
    )
    assert names == [("server", 1), ("benchmark", 3)]
    assert server.command == worker.command == ("true",)
    assert (server.measure.repeats, worker.measure.repeats) == (1, 5)
    assert (server.is_service, worker.is_service) == (True, False)
    _, (server, _) = roles(Strategy.PARAMETER_SERVER, server=SERVER)
    assert server.command == ("serve", "--model", "a b", "--workers", "4")


def test_an_unknown_machine_has_an_unknown_number_of_gpus():
    _, (role,) = roles(Strategy.SINGLE_NODE, instance_type="p99.huge")
    assert role.gpus is None


def test_arguments_without_a_command_are_those_of_the_entry_point():
    (role,) = bundle_of(a_descriptor(ml=Ml(args="--x 'a b'"), env=Env(docker_image="image"))).roles
    assert (role.command, role.arguments) == ((), ("--x", "a b"))
    (role,) = bundle_of(a_descriptor(ml=Ml(benchmark_code="train", args="--x"))).roles
    assert (role.command, role.arguments) == (("train", "--x"), ())
