"""kill -9 of the agent, of everything at once, and of drivers that race for the same runs."""

import os
import signal
import subprocess

import pytest

from anubis.agent.process_tree import command_line
from support.gated import Gated
from support.processes import left_in, until

#: The benchmark has a child in a new session, like a daemon.
DAEMON = "setsid sleep 600 &"


@pytest.fixture
def bench(anubis):
    bench = Gated(anubis, extra=DAEMON)
    yield bench
    bench.close()


def agents(bench):
    """Every process of an agent, its helpers included."""
    return [pid for pid in left_in(bench.home) if "anubis.agent.entry" in command_line(pid)]


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


@pytest.mark.parametrize(
    "moment", ["its process is there", "it has shown itself", "the benchmark has printed"]
)
def test_a_killed_agent_ends_its_run_with_a_cause(anubis, bench, moment):
    process = anubis.start("run", bench.file, text=True)
    if moment == "its process is there":
        pids = until(lambda: agents(bench), moment)
    elif moment == "it has shown itself":
        pids = [until(lambda: bench.records("alive"), moment) and bench.agent()]
    else:
        bench.wait_started()
        pids = [bench.agent()]
    kill(pids)
    out, _ = process.communicate()
    assert process.returncode == 1
    assert "the agent" in out
    assert "help: " in out
    (row,) = bench.check_whole()
    assert (row.status, row.cause) == ("failed", "lost")
    if moment == "the benchmark has printed":
        assert anubis("logs", text=False).stdout == b"first\n"


def test_between_repeats_and_after_it_the_machine_is_free_again(anubis, bench):
    """The agent dies in its second repeat; the slot it held is free for the next run at once."""
    bench.open_gate()
    process = anubis.start("run", bench.file, "--set", "measure.repeats=3")
    bench.wait_started(executions=2)
    kill([bench.agent()])
    process.communicate()
    assert process.returncode == 1
    bench.open_gate()
    assert anubis("run", bench.file).returncode == 0
    first, second = bench.check_whole()
    assert (first.cause, second.cause) == ("lost", None)
    assert bench.starts() == [f"{first.id} 0", f"{first.id} 1", f"{second.id} 0"]


def test_everything_dies_at_once(anubis, bench):
    """As in a power cut: driver, agent and benchmark end at once and write nothing more."""
    process = anubis.start("run", bench.file)
    bench.wait_started()
    process.kill()
    kill(left_in(bench.home))
    process.communicate()
    watched = anubis("watch")
    assert watched.returncode == 1
    assert "lost" in anubis.json("status")["cause"]
    bench.check_whole()


def test_drivers_race_and_die(anubis, bench):
    """Five drivers on eight runs in two slots; one driver after another is killed while runs begin."""
    family = ["--rounds", "8"]
    anubis_slots = {**anubis.environment(), "ANUBIS_PROCESS_SLOTS": "2"}
    anubis.environment = lambda: anubis_slots
    assert anubis("submit", bench.file, *family).returncode == 0
    drivers = [
        anubis.start("watch", row.id, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for row in bench.rows()[:4]
    ]
    for begun, driver in enumerate(drivers, 1):
        bench.wait_started(executions=begun)
        driver.kill()
        bench.open_gate()
    bench.open_gate(8 - len(drivers))
    for driver in drivers:
        driver.wait()
    for row in bench.rows():
        assert anubis("watch", row.id).returncode == 0
    rows = bench.check_whole()
    assert [row.status for row in rows] == ["succeeded"] * 8
    assert len(bench.starts()) == 8
