import pytest

from anubis.model.descriptor import Measure
from anubis.model.errors import StageError
from anubis.model.launch import Launch, Replica, Role
from anubis.pipeline.slurm.request import Defaults, options_of


def options(defaults=None, **fields):
    return options_of(launch(role(**fields)), defaults or Defaults())


def role(name="benchmark", **fields):
    return Role(name=name, command=("true",), **fields)


def launch(*roles, launched=None):
    replicas = [
        Replica(role=each, rank=rank, argv=(), environment={}, record="", address="")
        for each in roles
        for rank in range(each.replicas)
    ]
    return Launch(replicas=tuple(replicas), launched=launched)


def test_each_replica_has_a_node_with_what_the_largest_needs():
    roles = role("server", cpus=4, memory_gb=1), role(replicas=2, cpus=2, memory_gb=2, instance_type="fast")
    assert options_of(launch(*roles), Defaults()) == (
        "--no-requeue",
        "--constraint=fast",
        "--nodes=3",
        "--ntasks=3",
        "--ntasks-per-node=1",
        "--cpus-per-task=4",
        "--mem=2048M",
    )


def test_the_ranks_of_mpi_are_tasks():
    ranks = role("worker", replicas=2, processes=3, cpus=6, gpus=1)
    assert options_of(launch(role(processes=3), launched=ranks), Defaults()) == (
        "--no-requeue",
        "--nodes=2",
        "--ntasks=6",
        "--ntasks-per-node=3",
        "--cpus-per-task=2",
        "--gres=gpu:1",
    )


def test_nodes_of_different_types_are_refused():
    with pytest.raises(StageError, match="fast, large"):
        options_of(launch(role("server", instance_type="large"), role(instance_type="fast")), Defaults())


def test_without_limits_the_cluster_decides():
    assert options(instance_type="local") == ("--no-requeue", "--ntasks=1")


def test_the_limits_of_the_role():
    assert options(cpus=1.5, memory_gb=0.3, gpus=2, instance_type="fast") == (
        "--no-requeue",
        "--constraint=fast",
        "--ntasks=1",
        "--cpus-per-task=2",
        "--mem=308M",
        "--gres=gpu:2",
    )


def test_the_settings_of_the_operator_come_last():
    defaults = Defaults(
        partition="p", account="a", qos="q", constraint="c", gpu_type="h200", options=("--exclusive",)
    )
    assert options(defaults, gpus=1, instance_type="fast") == (
        "--no-requeue",
        "--partition=p",
        "--account=a",
        "--qos=q",
        "--constraint=c&fast",
        "--ntasks=1",
        "--gres=gpu:h200:1",
        "--exclusive",
    )


def test_the_time_is_that_of_all_executions():
    measure = Measure(timeout_s=600.0, repeats=3, warmups=1)
    assert "--time=46" in options(measure=measure)  # 4 * 610 s + 300 s
    assert "--time=20" in options(Defaults(time_limit_s=1200.0), measure=measure)
    assert "--time=20" in options(Defaults(time_limit_s=1200.0))
