"""Runs with several replicas: their common begin and end, their values, and what is left when one of them is killed."""

import json
import os
import signal
import socket
from pathlib import Path

import pytest

from support.gated import stored
from support.processes import left_in, until
from support.replicas import DISTRIBUTED, LIVENESS, READINESS, SERVER, Replicas, python

METRICS = """
[[output.metrics]]
name = "rate"
units = "1/s"
ranks = "{ranks}"
pattern = 'rate=(\\S+)'
"""
#: Every rank says that it runs and waits for the file ``go``, so that the test decides when it continues.
RANK = """
import os, time
rank = os.environ["ANUBIS_RANK"]
print("repeat", os.environ["ANUBIS_REPEAT"], flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
{then}
"""
WAITING_SERVER = "sh -c 'echo started; exec sleep 600'"


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def torchrun(anubis, then, *, count=2, more=""):
    command = python(anubis.folder, "rank.py", RANK.format(then=then))
    return Replicas(anubis, "torchrun", command, DISTRIBUTED.format(count=count) + more)


def inference(anubis, command, server, *, probes="", port=1, more=""):
    sections = SERVER.format(port=port, command=json.dumps(server)) + probes + more
    return Replicas(anubis, "inference", command, sections)


def go(anubis):
    (anubis.folder / "go").touch()


def nothing_is_left(anubis):
    until(lambda: not left_in(anubis.home), "every process of the run is gone")


def fails(run, cause, *words):
    """Assert that the run failed for this cause, that the reason has these words, and that nothing is left."""
    assert (run.row.status, run.row.cause) == ("failed", cause), run.row
    for word in words:
        assert word in run.row.reason
    nothing_is_left(run.anubis)


def test_values_of_all_ranks_become_one_as_the_metric_says(anubis):
    then = "print(f'rate={10 * (int(rank) + 1) + int(os.environ[\"ANUBIS_REPEAT\"])}')"
    run = torchrun(anubis, then, count=3, more="[measure]\nrepeats = 2\n" + METRICS.format(ranks="sum"))
    go(anubis)
    ended = run.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert run.values()["rate"] == pytest.approx((60 + 63) / 2)
    replicas = anubis.json("show", run.row.id)["replicas"]
    before = anubis.json("results", run.row.id, "--samples", "rate")
    archive = anubis.json("record", "export", run.row.id)["path"]
    assert anubis("purge", run.row.id, "--yes").returncode == 0
    assert anubis("record", "import", archive).returncode == 0
    assert anubis.json("results", run.row.id, "--samples", "rate") == before
    assert [(each["role"], each["rank"], each["code"]) for each in replicas] == [
        ("benchmark", rank, 0) for rank in range(3)
    ]
    lines = anubis("logs", run.row.id).stdout.splitlines()
    assert {line.partition("]")[0] for line in lines} == {f"[benchmark {rank}" for rank in range(3)}
    assert anubis("logs", run.row.id, "--rank", "2").stdout.splitlines()[:2] == [
        "[benchmark 2] repeat 0",
        "[benchmark 2] rate=30",
    ]
    refused = anubis("logs", run.row.id, "--role", "server")
    assert refused.returncode == 2
    assert "benchmark 2" in refused.stderr
    nothing_is_left(anubis)


def test_a_rank_without_a_value_is_named_and_nothing_is_added_up(anubis):
    run = torchrun(anubis, "if rank != '1': print('rate=5')", count=3, more=METRICS.format(ranks="sum"))
    go(anubis)
    run.run()
    fails(run, "metric_missing", '"rate" has no value of benchmark 1 in repeat 0')
    assert run.values() == {}


def test_without_a_rule_the_value_is_that_of_the_lowest_rank_that_has_one(anubis):
    run = torchrun(
        anubis, "if rank != '0': print(f'rate={rank}')", count=3, more=METRICS.format(ranks="first")
    )
    go(anubis)
    run.run()
    assert run.values()["rate"] == 1.0


def test_ranks_begin_each_execution_together(anubis):
    then = """
open(f"begun-{rank}-{os.environ['ANUBIS_REPEAT']}", "w").close()
if rank == "1":
    while not os.path.exists(f"begun-0-{os.environ['ANUBIS_REPEAT']}"):
        time.sleep(0.01)
else:
    while not os.path.exists(f"begun-1-{os.environ['ANUBIS_REPEAT']}"):
        time.sleep(0.01)
print("rate=1")
"""
    run = torchrun(anubis, then, more="[measure]\nrepeats = 3\n" + METRICS.format(ranks="mean"))
    go(anubis)
    assert run.run().returncode == 0
    assert run.values()["rate"] == 1.0


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_ends_the_run_with_its_cause(anubis, rank):
    run = torchrun(anubis, "print('rate=1')", count=3)
    driver = run.start()
    pid = run.started("benchmark", rank)
    run.started("benchmark", 2)
    os.kill(pid, signal.SIGKILL)
    driver.wait(60)
    fails(run, "user_error", "killed by signal 9", *(["benchmark 1"] if rank else []))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_agent_ends_the_run_as_lost(anubis, rank):
    run = torchrun(anubis, "print('rate=1')", count=3)
    driver = run.start()
    run.started("benchmark", 2)
    os.kill(run.agent("benchmark", rank), signal.SIGKILL)
    driver.wait(60)
    fails(run, "lost", *(["benchmark 1"] if rank else ["vanished"]))


def test_a_stopped_rank_ends_the_run_at_its_timeout(anubis):
    run = torchrun(anubis, "print('rate=1')", more="[measure]\ntimeout_s = 3.0\n")
    driver = run.start()
    os.kill(run.started("benchmark", 1), signal.SIGSTOP)
    run.started("benchmark", 0)
    go(anubis)
    driver.wait(90)
    fails(run, "timeout")


def test_the_next_driver_continues_after_kill(anubis):
    run = torchrun(anubis, "print('rate=2')", more=METRICS.format(ranks="max"))
    driver = run.start()
    run.started("benchmark", 0)
    run.started("benchmark", 1)
    driver.kill()
    driver.wait()
    go(anubis)
    anubis("watch", run.row.id)
    assert run.row.status == "succeeded"
    assert run.values()["rate"] == 2.0
    nothing_is_left(anubis)


def test_nothing_is_left_of_a_run_that_nobody_drives(anubis):
    """The measured agent is killed while no process drives the run: the other agents end by themselves."""
    run = torchrun(anubis, "print('rate=2')", count=3)
    driver = run.start()
    for rank in range(3):
        run.started("benchmark", rank)
    driver.kill()
    driver.wait()
    os.kill(run.agent("benchmark", 0), signal.SIGKILL)
    nothing_is_left(anubis)


def test_a_cancelled_run_ends_all_replicas(anubis):
    run = inference(anubis, "sleep 600", WAITING_SERVER)
    driver = run.start()
    run.started("benchmark", 0)
    anubis("cancel", run.row.id)
    driver.wait(60)
    assert run.row.status == "cancelled"
    nothing_is_left(anubis)


HTTP_SERVER = """
import http.server, os, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if os.path.exists("ready") else 503)
        self.end_headers()
    def log_message(self, *_):
        pass
print("loaded=7", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
LOADED = """
[[server.output.metrics]]
name = "loaded"
units = "none"
pattern = 'loaded=(\\S+)'
"""


@pytest.mark.parametrize(
    "check", ['path = "/ping"', "", 'command = "test -e ready"'], ids=["http", "tcp", "command"]
)
def test_the_client_starts_when_the_server_is_ready(anubis, port, check):
    server = python(anubis.folder, "server.py", HTTP_SERVER) + f" {port}"
    run = inference(
        anubis,
        "sh -c 'test -e ready || test -z \"$STRICT\"; echo rate=1'",
        server,
        probes=READINESS.format(check=check, wait=60),
        port=port,
        more=LOADED + ("[env.vars]\nSTRICT = '1'\n" if check else ""),
    )
    driver = run.start()
    run.started("server", 0)
    if check:
        assert not (run.record("benchmark", 0) / "stdout").exists() or not run.read("benchmark", 0).exit
        assert not (run.record("server", 0) / "server-ready").exists()
    (anubis.folder / "ready").touch()
    driver.wait(60)
    assert run.row.status == "succeeded", run.row
    assert run.values()["loaded"] == 7.0
    nothing_is_left(anubis)


def test_a_run_waits_while_another_program_has_the_port_of_its_server(anubis, port):
    """Its probe would find the other program ready, and the client would measure that."""
    server = python(anubis.folder, "server.py", HTTP_SERVER) + f" {port}"
    run = inference(
        anubis, "echo rate=1", server, probes=READINESS.format(check="", wait=60), port=port, more=LOADED
    )
    with socket.create_server(("127.0.0.1", port)):
        driver = run.start()
        reason = until(
            lambda: next((row.reason for row in stored(anubis.home)), ""), "the run waits with a reason"
        )
        assert f"another program uses port {port}" in reason
        assert run.row.status == "place"
    driver.wait(60)
    assert run.row.status == "succeeded", run.row
    nothing_is_left(anubis)


def test_a_server_that_never_becomes_ready_has_a_cause(anubis, port):
    server = python(anubis.folder, "server.py", HTTP_SERVER) + f" {port}"
    run = inference(
        anubis, "true", server, probes=READINESS.format(check='path = "/ping"', wait=1), port=port
    )
    ended = run.run()
    fails(run, "server_not_ready", "not ready within 1 s", "status 503")
    assert "anubis logs --role server" in ended.stdout
    assert not run.read("benchmark", 0).executions


def test_a_server_that_dies_ends_the_run_with_its_cause(anubis):
    run = inference(anubis, "sleep 600", WAITING_SERVER)
    driver = run.start()
    run.started("benchmark", 0)
    os.kill(run.started("server", 0), signal.SIGKILL)
    driver.wait(60)
    fails(run, "server_ended", "server 0", "signal 9")


def test_a_client_that_fails_because_its_server_died_is_not_blamed(anubis):
    run = inference(
        anubis,
        "sh -c 'while kill -0 $(cat pid); do :; done; exit 3'",
        "sh -c 'echo $$ > pid; exec sleep 600'",
    )
    driver = run.start()
    run.started("benchmark", 0)
    os.kill(run.started("server", 0), signal.SIGKILL)
    driver.wait(60)
    fails(run, "server_ended", "signal 9")


def test_a_server_that_is_no_longer_alive_ends_the_run(anubis):
    probe = LIVENESS.format(check='command = "test -e healthy"')
    (anubis.folder / "healthy").touch()
    run = inference(anubis, "sleep 600", WAITING_SERVER, probes=probe)
    driver = run.start()
    run.started("benchmark", 0)
    (anubis.folder / "healthy").unlink()
    driver.wait(60)
    fails(run, "server_unhealthy", "liveness probe", "test -e healthy")


def test_a_killed_probe_is_started_again(anubis, port):
    server = python(anubis.folder, "server.py", HTTP_SERVER) + f" {port}"
    run = inference(
        anubis, "true", server, probes=READINESS.format(check='path = "/ping"', wait=60), port=port
    )
    driver = run.start()
    run.started("server", 0)

    def probe():
        return [
            pid
            for pid in left_in(run.record("server", 0))
            if b"\0probe\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]

    (pid,) = until(probe, "the probe runs")
    os.kill(pid, signal.SIGKILL)
    (anubis.folder / "ready").touch()
    driver.wait(60)
    assert run.row.status == "succeeded", run.row
    nothing_is_left(anubis)


def test_workers_reach_their_parameter_server(anubis):
    program = python(
        anubis.folder,
        "ps.py",
        """
import json, os, socket, time
address = os.environ["PARAMETER_SERVER_HOST"], int(os.environ["PARAMETER_SERVER_PORT"])
assert json.loads(os.environ["TF_CONFIG"])["cluster"]["ps"] == [f"{address[0]}:{address[1]}"]
if os.environ["ANUBIS_ROLE"] == "server":
    listener = socket.create_server(address)
    while True:
        peer, _ = listener.accept()
        peer.sendall(b"7")
        peer.close()
while True:
    try:
        with socket.create_connection(address) as server:
            print("rate=" + server.recv(1).decode())
        break
    except ConnectionRefusedError:
        time.sleep(0.01)
""",
    )
    more = DISTRIBUTED.format(count=2) + METRICS.format(ranks="sum")
    run = Replicas(anubis, "parameter_server", program, more)
    ended = run.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert run.values()["rate"] == 14.0
    nothing_is_left(anubis)
