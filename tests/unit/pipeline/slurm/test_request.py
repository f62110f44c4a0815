from anubis.model.descriptor import Measure
from anubis.model.launch import Role
from anubis.pipeline.slurm.request import Defaults, options_of


def options(defaults=None, **fields):
    return options_of(Role(name="benchmark", command=("true",), **fields), defaults or Defaults())


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
