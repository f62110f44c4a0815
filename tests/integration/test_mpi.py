"""Strategy mpi with Open MPI: each rank has an agent and a record, and a failure of one ends the run."""

import os
import re
import shutil
import signal

import pytest

from support.command import Command
from support.gated import stored
from support.processes import left_in, until
from support.replicas import DISTRIBUTED, Replicas, python
from support.tree import ROOT

EXAMPLE = ROOT / "examples" / "mpi-training" / "mpi.toml"
METRIC = """
[[output.metrics]]
name = "rate"
units = "1/s"
ranks = "sum"
pattern = 'rate=(\\S+)'
"""
RANK = """
import os, time
rank, size = os.environ["OMPI_COMM_WORLD_RANK"], os.environ["OMPI_COMM_WORLD_SIZE"]
assert (rank, size) == (os.environ["ANUBIS_RANK"], os.environ["ANUBIS_WORLD_SIZE"])
print("rank", rank, "of", size, flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
{then}
"""


@pytest.fixture
def anubis(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    command = Command(tmp_path / "home", folder)
    yield command
    command.close()


@pytest.fixture(autouse=True)
def allowed(monkeypatch):
    """As root and with more ranks than processors."""
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_mpi_yield_when_idle"):
        monkeypatch.setenv(name, "1")


def mpirun(anubis, then, *, more="", words=""):
    assert shutil.which("mpirun"), "install openmpi-bin"
    command = f"mpirun {words} " + python(anubis.folder, "rank.py", RANK.format(then=then))
    return Replicas(anubis, "mpi", command, DISTRIBUTED.format(count=2) + more)


def nothing_is_left(anubis):
    until(lambda: not left_in(anubis.home), "every process of the run is gone")


def test_each_rank_has_a_record_with_all_repeats(anubis):
    run = mpirun(
        anubis,
        "print(f'rate={10 + int(rank) + int(os.environ[\"ANUBIS_REPEAT\"])}')",
        more="[measure]\nrepeats = 2\nwarmups = 1\n" + METRIC,
    )
    (anubis.folder / "go").touch()
    ended = run.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert run.values()["rate"] == pytest.approx((21 + 23) / 2)
    for rank in range(2):
        record = run.read("worker", rank)
        assert [each.repeat for each in record.executions] == [-1, 0, 1]
        assert record.facts["world_size"] == 2
        samples = record.samples()["rate"]
        assert list(zip(samples.repeats, samples.values, strict=True)) == [
            (repeat, 10.0 + rank + repeat) for repeat in (-1, 0, 1)
        ]
    printed = anubis("logs", run.row.id, "--role", "worker").stdout
    assert len(re.findall(r"^\[worker 1\] rank 1 of 2$", printed, re.MULTILINE)) == 3
    nothing_is_left(anubis)


def test_mpirun_decides_how_many_ranks_there_are(anubis):
    run = mpirun(anubis, "print('rate=1')", words="-np 1", more=METRIC)
    (anubis.folder / "go").touch()
    assert run.run().returncode == 0
    assert run.values()["rate"] == 1.0


def test_a_failed_rank_is_named(anubis):
    run = mpirun(anubis, "raise SystemExit(3 * int(rank))", more=METRIC)
    (anubis.folder / "go").touch()
    run.run()
    assert (run.row.status, run.row.cause) == ("failed", "user_error")
    assert "worker 1: " in run.row.reason
    assert "exit code 3" in run.row.reason
    nothing_is_left(anubis)


def test_a_rank_without_a_value_is_named(anubis):
    run = mpirun(anubis, "if rank == '0': print('rate=1')", more=METRIC)
    (anubis.folder / "go").touch()
    run.run()
    assert run.row.cause == "metric_missing"
    assert "no value of worker 1 in repeat 0" in run.row.reason


def test_a_killed_rank_ends_the_run(anubis):
    run = mpirun(anubis, "print('rate=1')")
    driver = run.start()
    run.started("worker", 0)
    os.kill(run.started("worker", 1), signal.SIGKILL)
    driver.wait(60)
    assert (run.row.status, run.row.cause) == ("failed", "user_error")
    assert "worker 1: " in run.row.reason
    assert "signal 9" in run.row.reason
    nothing_is_left(anubis)


def test_a_killed_agent_of_a_rank_ends_the_run_as_lost(anubis):
    run = mpirun(anubis, "print('rate=1')")
    driver = run.start()
    run.started("worker", 0)
    os.kill(run.agent("worker", 1), signal.SIGKILL)
    driver.wait(60)
    assert (run.row.status, run.row.cause) == ("failed", "lost")
    assert "worker 1" in run.row.reason
    nothing_is_left(anubis)


def test_a_stopped_rank_ends_the_run_at_its_timeout(anubis):
    run = mpirun(anubis, "print('rate=1')", more="[measure]\ntimeout_s = 4.0\n")
    driver = run.start()
    os.kill(run.started("worker", 1), signal.SIGSTOP)
    driver.wait(90)
    assert (run.row.status, run.row.cause) == ("failed", "timeout")
    nothing_is_left(anubis)


def test_nothing_is_left_when_the_launcher_is_killed_and_nobody_drives_the_run(anubis):
    run = mpirun(anubis, "print('rate=1')")
    driver = run.start()
    run.started("worker", 0)
    run.started("worker", 1)
    driver.kill()
    driver.wait()
    os.kill(run.agent("benchmark", 0), signal.SIGKILL)
    nothing_is_left(anubis)


def test_the_example_gives_its_metrics(anubis):
    ended = anubis("run", EXAMPLE)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (row,) = stored(anubis.home)
    assert set(row.values) >= {"throughput", "step_time", "distance"}
