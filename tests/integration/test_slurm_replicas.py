"""Runs of several nodes on a real Slurm: every rank has a record, and the failure of one ends the run with its cause."""

import json
import os
import re
import shutil
import signal

import pytest

from anubis.record import layout
from support.command import Command
from support.processes import left_in, until
from support.replicas import DISTRIBUTED, SERVER, Replicas, python
from support.slurm import NODES

METRIC = """
[[output.metrics]]
name = "rate"
units = "1/s"
ranks = "sum"
pattern = 'rate=(\\S+)'
"""
#: A rank that says where it is, and waits until the test decides how it continues.
RANK = """
import os, socket, time
rank = int(os.environ["ANUBIS_RANK"])
print("rank", rank, "of", os.environ["ANUBIS_WORLD_SIZE"], "on", socket.gethostname(), flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
{then}
"""


@pytest.fixture
def anubis(slurm, tmp_path, monkeypatch):
    """The installed command, for runs on Slurm."""
    monkeypatch.setenv("ANUBIS_ENGINE", "slurm")
    (tmp_path / "work").mkdir()
    command = Command(tmp_path / "home", tmp_path / "work")
    yield command
    command.close()
    slurm.call("scancel", "--me")
    until(lambda: not left_in(command.home), "every process of the run is gone")


def ranks(anubis, then, *, strategy="torchrun", more="", launcher=""):
    command = python(anubis.folder, "rank.py", RANK.format(then=then))
    return Replicas(anubis, strategy, f"{launcher} {command}".strip(), DISTRIBUTED.format(count=2) + more)


def go(anubis):
    (anubis.folder / "go").touch()


def both_run(run, role="benchmark"):
    for rank in range(2):
        run.started(role, rank)


RENDEZVOUS = """
server, port = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
assert (os.environ["RANK"], os.environ["WORLD_SIZE"], os.environ["LOCAL_RANK"]) == (str(rank), "2", "0")
repeat = int(os.environ["ANUBIS_REPEAT"])
if rank == 0:
    with socket.create_server(("", port)) as listener:
        other, address = listener.accept()
    other.sendall(b"meet")
else:
    while True:
        try:
            other = socket.create_connection((server, port))
            break
        except OSError:
            time.sleep(0.01)
    assert other.recv(4) == b"meet"
print(f"rate={10 * (rank + 1) + repeat}")
"""


def test_ranks_on_two_nodes_find_each_other_and_each_has_a_record(anubis):
    run = ranks(anubis, RENDEZVOUS, more="[measure]\nrepeats = 2\n" + METRIC)
    go(anubis)
    ended = run.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr + anubis("logs", "@last").stdout
    assert run.values()["rate"] == pytest.approx((30 + 32) / 2)
    for rank in range(2):
        assert [each.repeat for each in run.read("benchmark", rank).executions] == [0, 1]
        assert run.read("benchmark", rank).facts["hostname"] == NODES[rank]
    printed = anubis("logs", run.row.id).stdout
    assert re.search(rf"^\[benchmark 1\] rank 1 of 2 on {NODES[1]}$", printed, re.MULTILINE)
    shown = anubis.json("show", run.row.id)["replicas"]
    assert [(each["role"], each["rank"], each["code"]) for each in shown] == [
        ("benchmark", 0, 0),
        ("benchmark", 1, 0),
    ]
    assert not list((anubis.home / "slurm").glob("*.*.*")), "the scripts are removed"


def test_a_failed_rank_is_named(anubis):
    run = ranks(anubis, "raise SystemExit(3 * rank)")
    go(anubis)
    run.run()
    assert (run.row.status, run.row.cause) == ("failed", "user_error")
    assert "benchmark 1: " in run.row.reason
    assert "exit code 3" in run.row.reason


@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_agent_ends_the_run_as_lost(anubis, killed):
    run = ranks(anubis, "")
    driver = run.start()
    both_run(run)
    os.kill(run.agent("benchmark", killed), signal.SIGKILL)
    driver.wait(60)
    assert (run.row.status, run.row.cause) == ("failed", "lost"), run.row
    assert "vanished" in run.row.reason
    if killed:
        assert "benchmark 1" in run.row.reason


def test_a_node_without_connection_ends_the_run(anubis, slurm):
    run = ranks(anubis, "")
    driver = run.start()
    both_run(run)
    slurm.connect(NODES[1], to_others=False)
    try:
        driver.wait(90)
    finally:
        slurm.connect(NODES[1])
        slurm.wait_idle()
    assert (run.row.status, run.row.cause) == ("failed", "lost"), run.row
    assert "node failed" in run.row.reason


def test_a_cancelled_run_ends_on_all_nodes(anubis):
    run = ranks(anubis, "")
    driver = run.start()
    both_run(run)
    anubis("cancel", "--all")
    driver.wait(60)
    assert (run.row.status, run.row.cause) == ("cancelled", "cancelled")
    causes = {
        json.loads((run.record("benchmark", rank) / layout.EXIT).read_bytes())["cause"] for rank in range(2)
    }
    assert causes == {"cancelled"}


def test_what_the_operator_cancels_is_cancelled(anubis, slurm):
    run = ranks(anubis, "")
    driver = run.start()
    both_run(run)
    slurm.call("scancel", "--me")
    driver.wait(60)
    assert (run.row.status, run.row.cause) == ("cancelled", "cancelled")
    assert "cancelled in Slurm" in run.row.reason


def test_set_up_that_fails_on_one_node_ends_the_run(anubis, monkeypatch):
    monkeypatch.setenv("ANUBIS_SLURM_SETUP", f'[ "$(hostname)" = {NODES[0]} ]')
    run = ranks(anubis, "")
    run.run()
    assert (run.row.status, run.row.cause, run.row.reason) == (
        "failed",
        "user_error",
        "the set-up lines failed",
    )


def test_a_stopped_rank_ends_the_run_at_its_timeout(anubis):
    run = ranks(anubis, "", more="[measure]\ntimeout_s = 4.0\n")
    driver = run.start()
    both_run(run)
    os.kill(run.started("benchmark", 1), signal.SIGSTOP)
    driver.wait(90)
    assert (run.row.status, run.row.cause) == ("failed", "timeout")


def test_a_killed_driver_loses_nothing(anubis):
    run = ranks(anubis, "print('rate=1')", more=METRIC)
    driver = run.start()
    both_run(run)
    driver.kill()
    driver.wait()
    go(anubis)
    ended = anubis("worker")
    assert ended.returncode == 0, ended.stderr
    assert run.row.status == "succeeded"
    assert run.values()["rate"] == 2.0


def test_a_client_finds_its_server_on_another_node(anubis):
    serve = python(
        anubis.folder,
        "server.py",
        "import os, socket\n"
        "with socket.create_server(('', 8321)) as listener:\n"
        "    while True:\n"
        "        listener.accept()[0].sendall(socket.gethostname().encode())\n",
    )
    ask = python(
        anubis.folder,
        "client.py",
        "import os, socket\n"
        "address = os.environ['INFERENCE_SERVER_HOST'], int(os.environ['INFERENCE_SERVER_PORT'])\n"
        "print(socket.create_connection(address).recv(99).decode(), socket.gethostname())\n",
    )
    probe = (
        "[server.env.readiness_probe]\ninitial_delay_seconds = 1\nperiod_seconds = 1\nmax_wait_seconds = 60\n"
    )
    run = Replicas(anubis, "inference", ask, SERVER.format(port=8321, command=json.dumps(serve)) + probe)
    ended = run.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr + anubis("logs", "@last").stdout
    assert " ".join(NODES) in anubis("logs", run.row.id, "--role", "benchmark").stdout


def test_parameter_servers_and_workers_have_nodes(anubis):
    then = "print(os.environ['PARAMETER_SERVER_HOST'], os.environ['ANUBIS_ROLE'])"
    command = python(anubis.folder, "rank.py", RANK.format(then=then))
    run = Replicas(anubis, "parameter_server", command, DISTRIBUTED.format(count=1))
    go(anubis)
    run.run()
    printed = anubis("logs", run.row.id).stdout
    assert f"[benchmark 0] {NODES[0]} benchmark" in printed


@pytest.fixture
def mpirun(monkeypatch):
    assert shutil.which("mpirun"), "install openmpi-bin"
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_mpi_yield_when_idle"):
        monkeypatch.setenv(name, "1")
    return "mpirun"


def test_mpirun_starts_ranks_on_all_nodes_and_each_has_a_record(anubis, mpirun):
    run = ranks(
        anubis,
        "print(f'rate={rank + 1}')",
        strategy="mpi",
        launcher=mpirun,
        more="processes_per_instance = 2\n" + METRIC,
    )
    go(anubis)
    ended = run.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr + anubis("logs", "@last").stdout
    assert run.values()["rate"] == 10.0
    hosts = [run.read("worker", rank).facts["hostname"] for rank in range(4)]
    assert hosts == [NODES[0], NODES[0], NODES[1], NODES[1]]
    assert f"[worker 3] rank 3 of 4 on {NODES[1]}" in anubis("logs", run.row.id, "--role", "worker").stdout


def test_srun_starts_ranks_with_records_too(anubis):
    run = ranks(anubis, "print(f'rate={rank + 1}')", strategy="mpi", launcher="srun anubis-rank", more=METRIC)
    go(anubis)
    ended = run.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr + anubis("logs", "@last").stdout
    assert run.values()["rate"] == 3.0
    assert [run.read("worker", rank).facts["hostname"] for rank in range(2)] == list(NODES)


@pytest.mark.parametrize("strategy", ["torchrun", "mpi"])
def test_data_are_on_every_node(anubis, mpirun, tmp_path, strategy):
    (anubis.folder / "data.txt").write_text("17 rows\n")
    target = tmp_path / "node" / "train"
    more = f'[[data.sources]]\nsrc = "file://{anubis.folder}/data.txt"\npath = "{target}"'
    launcher = mpirun if strategy == "mpi" else ""
    run = ranks(anubis, f"print(open('{target}').read())", strategy=strategy, launcher=launcher, more=more)
    go(anubis)
    ended = run.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr + anubis("logs", "@last").stdout
    assert anubis("logs", run.row.id).stdout.count("17 rows") == 2


def test_a_failed_rank_of_mpi_is_named(anubis, mpirun):
    run = ranks(anubis, "raise SystemExit(3 * rank)", strategy="mpi", launcher=mpirun)
    go(anubis)
    run.run()
    assert (run.row.status, run.row.cause) == ("failed", "user_error")
    assert "worker 1: " in run.row.reason
    assert "exit code 3" in run.row.reason


def test_a_killed_agent_of_a_rank_of_mpi_ends_the_run_as_lost(anubis, mpirun):
    run = ranks(anubis, "", strategy="mpi", launcher=mpirun)
    driver = run.start()
    both_run(run, "worker")
    os.kill(run.agent("worker", 1), signal.SIGKILL)
    driver.wait(60)
    assert (run.row.status, run.row.cause) == ("failed", "lost"), run.row
    assert "worker 1" in run.row.reason


def test_a_node_that_mpi_loses_ends_the_run(anubis, slurm, mpirun):
    run = ranks(anubis, "", strategy="mpi", launcher=mpirun)
    driver = run.start()
    both_run(run, "worker")
    slurm.connect(NODES[1], to_others=False)
    try:
        driver.wait(90)
    finally:
        slurm.connect(NODES[1])
        slurm.wait_idle()
    assert (run.row.status, run.row.cause) == ("failed", "lost"), run.row
