"""Runs with several replicas in containers of Podman: they reach one another, and what is left when a part is killed."""

import json
import re
import signal

import pytest

from support import open_mpi
from support.command import Command
from support.podman import IMAGE, podman  # noqa: F401  a fixture
from support.processes import until
from support.replicas import DISTRIBUTED, READINESS, SERVER, Replicas

RATE = """
[[output.metrics]]
name = "rate"
units = "1/s"
ranks = "sum"
pattern = 'rate=(\\S+)'
"""
LOADED = """
[[server.output.metrics]]
name = "loaded"
units = "none"
pattern = 'loaded=(\\S+)'
"""
PORT = 8321
HTTPD = "sh -c 'echo loaded=7; mkdir /tmp/www; echo pong > /tmp/www/ping; exec httpd -f -p 127.0.0.1:8321 -h /tmp/www'"
CLIENT = "sh -c 'wget -q -O - http://$INFERENCE_SERVER_HOST:$INFERENCE_SERVER_PORT/ping; echo rate=3'"
#: The second rank gets its value from the first one.
MEETING = """
if [ $RANK = 0 ]; then
    mkdir /tmp/www; echo 10 > /tmp/www/value; httpd -p $MASTER_ADDR:$MASTER_PORT -h /tmp/www
    until [ -e /anubis/records/benchmark/1/got ]; do sleep 0.05; done
    echo rate=$WORLD_SIZE
else
    until value=$(wget -q -O - http://$MASTER_ADDR:$MASTER_PORT/value); do sleep 0.05; done
    touch /anubis/record/got
    echo rate=$value
fi
"""
#: Every rank says that it runs and waits for the file ``go`` in its record, so that the test decides when it continues.
WAITING = "sh -c 'echo rank $ANUBIS_RANK; until [ -e /anubis/record/go ]; do sleep 0.05; done; echo rate=2'"


@pytest.fixture
def anubis(podman, tmp_path, monkeypatch):  # noqa: F811
    """The installed command, for containers without a network of the machine."""
    monkeypatch.setenv("ANUBIS_CONTAINER_NETWORK", "none")
    monkeypatch.setenv("ANUBIS_ENGINE", "container")
    (tmp_path / "work").mkdir()
    command = Command(tmp_path / "home", tmp_path / "work")
    yield command
    command.close()
    if left := podman.containers():
        podman("rm", "--force", *left)


def env(image=IMAGE, **variables):
    values = "".join(f"{name} = {json.dumps(value)}\n" for name, value in variables.items())
    return f'[env]\ndocker_image = "{image}"\n[env.vars]\n{values}'


def torchrun(anubis, command, *, count=2, more=""):
    return Replicas(anubis, "torchrun", command, DISTRIBUTED.format(count=count) + env() + more)


def inference(anubis, command, server, *, probes="", more=""):
    described = SERVER.format(port=PORT, command=json.dumps(server)).replace('"none"', f'"{IMAGE}"')
    return Replicas(anubis, "inference", command, env() + described + probes + more)


def container(run, role="benchmark", rank=0):
    suffix = "" if (role, rank) == ("benchmark", 0) else f".{role}.{rank}"
    return f"anubis-{run.row.id}.1{suffix}"


def nothing_is_left(podman):  # noqa: F811
    until(lambda: not podman.containers(), "every container is removed")


def fails(run, podman, cause, *words):  # noqa: F811
    """Assert that the run failed for this cause, that the reason has these words, and that nothing is left."""
    assert (run.row.status, run.row.cause) == ("failed", cause), run.row
    for word in words:
        assert word in run.row.reason
    nothing_is_left(podman)


def test_ranks_reach_one_another_and_their_values_become_one(anubis, podman):  # noqa: F811
    run = torchrun(anubis, f"sh -c '{MEETING}'", more=RATE)
    ended = run.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert run.values()["rate"] == 12.0
    lines = anubis("logs", run.row.id).stdout.splitlines()
    assert {line.partition("]")[0] for line in lines} == {"[benchmark 0", "[benchmark 1"}
    replicas = anubis.json("show", run.row.id)["replicas"]
    assert [(each["role"], each["rank"], each["code"]) for each in replicas] == [
        ("benchmark", rank, 0) for rank in range(2)
    ]
    assert run.read("benchmark", 1).facts["image"]["name"] == IMAGE
    nothing_is_left(podman)


def test_a_replica_can_read_the_records_of_the_others_and_not_change_them(anubis):
    command = "sh -c 'cat /anubis/records/benchmark/1/options.json; touch /anubis/records/benchmark/1/x || echo refused'"
    run = torchrun(anubis, command)
    assert run.run().returncode == 0
    printed = anubis("logs", run.row.id, "--rank", "0").stdout
    assert '"record"' in printed
    assert "refused" in printed


def test_the_client_starts_when_the_server_is_ready_and_both_are_measured(anubis, podman):  # noqa: F811
    probes = READINESS.format(check='path = "/ping"', wait=60)
    run = inference(anubis, CLIENT, HTTPD, probes=probes, more=RATE + LOADED)
    ended = run.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    values = run.values()
    assert (values["rate"], values["loaded"]) == (3.0, 7.0)
    assert anubis("logs", run.row.id, "--role", "server").stdout == "[server 0] loaded=7\n"
    assert "pong" in anubis("logs", run.row.id, "--role", "benchmark").stdout
    nothing_is_left(podman)


def test_a_probe_that_is_a_command_runs_in_the_container_of_the_server(anubis, podman):  # noqa: F811
    run = inference(
        anubis,
        "echo rate=3",
        "sh -c 'sleep 0.2; echo $ANUBIS_ROLE > /tmp/is; exec sleep 600'",
        probes=READINESS.format(check="command = \"sh -c 'test $(cat /tmp/is) = server'\"", wait=60),
    )
    ended = run.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    nothing_is_left(podman)


def test_a_server_that_dies_ends_the_run_with_its_cause(anubis, podman):  # noqa: F811
    run = inference(anubis, "sleep 600", "sh -c 'echo started; exec sleep 600'")
    driver = run.start()
    run.started("benchmark", 0)
    podman("exec", container(run, "server"), "kill", "-9", run.started("server", 0))
    driver.wait(60)
    fails(run, podman, "server_ended", "server 0", "signal 9")


def test_a_server_without_enough_memory_is_named(anubis, podman):  # noqa: F811
    run = inference(anubis, "sleep 600", "dd if=/dev/zero of=/dev/null bs=200M count=1")
    text = run.path.read_text()
    run.path.write_text(text.replace("[server.hardware]", "[server.hardware]\nmemory_gb = 0.0625"))
    run.run()
    fails(run, podman, "out_of_memory", "server 0")


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_container_ends_the_run_as_lost(anubis, podman, rank):  # noqa: F811
    run = torchrun(anubis, WAITING)
    driver = run.start()
    for each in range(2):
        run.started("benchmark", each)
    podman("kill", "--signal", "KILL", container(run, rank=rank))
    driver.wait(60)
    fails(run, podman, "lost", *(["benchmark 1"] if rank else ["vanished"]))


def test_a_container_that_cannot_start_leaves_nothing(anubis, podman):  # noqa: F811
    run = inference(anubis, "sleep 600", "sleep 600")
    text = run.path.read_text()
    run.path.write_text(text.replace("[server.hardware]", "[server.hardware]\nmemory_gb = 0.000001"))
    run.run()
    fails(run, podman, "internal", "could not be started")


def test_a_cancelled_run_ends_all_replicas(anubis, podman):  # noqa: F811
    run = torchrun(anubis, WAITING, count=3)
    driver = run.start()
    for rank in range(3):
        run.started("benchmark", rank)
    anubis("cancel", run.row.id)
    driver.wait(60)
    assert run.row.status == "cancelled"
    nothing_is_left(podman)


def test_the_next_driver_continues_after_kill(anubis, podman):  # noqa: F811
    run = torchrun(anubis, WAITING, more=RATE)
    driver = run.start()
    for rank in range(2):
        run.started("benchmark", rank)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    for rank in range(2):
        (run.record("benchmark", rank) / "go").touch()
    anubis("watch", run.row.id)
    assert run.row.status == "succeeded", run.row
    assert run.values()["rate"] == 4.0
    nothing_is_left(podman)


def test_no_replica_runs_on_when_nobody_drives_the_run(anubis, podman):  # noqa: F811
    """The driver and the measured container are killed: the others end by themselves, and the next driver removes them."""
    run = torchrun(anubis, WAITING, count=3)
    driver = run.start()
    for rank in range(3):
        run.started("benchmark", rank)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    podman("kill", "--signal", "KILL", container(run))
    until(lambda: not podman("ps", "--quiet"), "no container runs")
    assert len(podman.containers()) == 3
    anubis("watch", run.row.id)
    fails(run, podman, "lost")


RANKS = "mpirun --allow-run-as-root --oversubscribe sh -c '{then}'"
WITH_MPI = "localhost/anubis-test/open-mpi:1"


@pytest.fixture
def mpi_image(podman):  # noqa: F811
    return podman.create(WITH_MPI, "ENV PATH=/bin:/usr/bin", files=open_mpi.files())


def mpirun(anubis, image, then, *, more=""):
    variables = env(image, OMPI_MCA_mpi_yield_when_idle="1")
    command = RANKS.format(then=then)
    return Replicas(anubis, "mpi", command, DISTRIBUTED.format(count=2) + variables + more)


def test_the_ranks_of_mpi_run_in_the_container_of_their_launcher(anubis, podman, mpi_image):  # noqa: F811
    then = "echo rank $OMPI_COMM_WORLD_RANK of $ANUBIS_WORLD_SIZE; echo rate=$((ANUBIS_RANK + 10))"
    run = mpirun(anubis, mpi_image, then, more="[measure]\nrepeats = 2\n" + RATE)
    ended = run.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert run.values()["rate"] == 21.0
    for rank in range(2):
        assert [each.repeat for each in run.read("worker", rank).executions] == [0, 1]
    printed = anubis("logs", run.row.id, "--role", "worker").stdout
    assert len(re.findall(r"^\[worker 1\] rank 1 of 2$", printed, re.MULTILINE)) == 2
    nothing_is_left(podman)


def test_a_failed_rank_of_mpi_is_named(anubis, podman, mpi_image):  # noqa: F811
    run = mpirun(anubis, mpi_image, "exit $((3 * ANUBIS_RANK))")
    run.run()
    fails(run, podman, "user_error", "worker 1: ", "exit code 3")


def test_a_killed_launcher_takes_its_ranks_with_it(anubis, podman, mpi_image):  # noqa: F811
    run = mpirun(anubis, mpi_image, "sleep 600")
    driver = run.start()
    for rank in range(2):
        run.started("worker", rank)
    podman("kill", "--signal", "KILL", container(run))
    driver.wait(60)
    fails(run, podman, "lost", "vanished")
