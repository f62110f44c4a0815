"""kill -9 of what drives a run (the foreground command, the background worker): the run ends as if nothing had been."""

import os
import signal
from pathlib import Path

import pytest

from support.gated import Gated
from support.processes import until

#: What can be seen from outside of a run's way from submission to its end, in this order.
MOMENTS = {
    "the database is there": lambda bench: (bench.home / "anubis.db").exists(),
    "the run is stored": lambda bench: bench.rows(),
    "it is being placed": lambda bench: bench.records(""),
    "its agent was started": lambda bench: bench.records("agent.log"),
    "its agent has shown itself": lambda bench: bench.records("alive"),
    "it is watched": lambda bench: [row for row in bench.rows() if row.status == "watch"],
    "the benchmark began": lambda bench: bench.starts(),
    "it has printed": lambda bench: any(bench.stdouts()),
}
LATE_MOMENTS = {
    "the benchmark has ended": lambda bench: b"rate=" in b"".join(bench.stdouts()),
    "the record is complete": lambda bench: bench.records("exit.json"),
    "its record was read": lambda bench: [
        row for row in bench.rows() if row.status not in {"fetch", "place", "watch"}
    ],
    "it is final": lambda bench: [row for row in bench.rows() if row.status.final],
}


@pytest.fixture
def bench(anubis):
    bench = Gated(anubis)
    yield bench
    bench.close()


def kill_at(process, bench, moment):
    until(lambda: MOMENTS.get(moment, LATE_MOMENTS.get(moment))(bench), moment)
    process.kill()
    process.communicate()
    assert process.returncode in {-signal.SIGKILL, 0}


def kill_worker(bench):
    """The background worker that a command started: the process that holds its lock."""
    pid = until(lambda: holder_of(bench.home / "worker.lock"), "a worker is at work")
    os.kill(pid, signal.SIGKILL)


def holder_of(lock):
    for words in map(str.split, Path("/proc/locks").read_text().splitlines()):
        if words[1] == "FLOCK" and lock.exists() and words[5].endswith(f":{lock.stat().st_ino}"):
            return int(words[4])
    return None


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_foreground_command_is_killed_before_the_end(anubis, bench, moment):
    kill_at(anubis.start("run", bench.file), bench, moment)
    bench.open_gate()
    if bench.rows():
        watched = anubis("watch")
        assert watched.returncode == 0, watched.stderr
    rows = bench.check_whole()
    assert len(rows) == 1 or moment == "the database is there"
    assert len(bench.starts()) == len(rows)


@pytest.mark.parametrize("moment", LATE_MOMENTS)
def test_the_foreground_command_is_killed_at_the_end(anubis, bench, moment):
    process = anubis.start("run", bench.file)
    bench.open_gate()
    kill_at(process, bench, moment)
    assert anubis("watch").returncode == 0
    (row,) = bench.check_whole()
    assert row.values["rate"] == (0.5, "1/s")


@pytest.mark.parametrize("moment", [*MOMENTS, *LATE_MOMENTS][2::2])
def test_a_worker_is_killed_and_the_next_one_carries_on(anubis, bench, moment):
    """Two runs: one under way, one that waits for its place."""
    submitted = anubis("submit", bench.file, bench.file)
    assert submitted.returncode == 0, submitted.stderr
    if moment in LATE_MOMENTS:
        bench.open_gate()
    until(lambda: (MOMENTS | LATE_MOMENTS)[moment](bench), moment)
    kill_worker(bench)
    bench.open_gate(2)
    assert anubis("worker").returncode == 0, "it ends by itself when all runs are final"
    rows = bench.check_whole()
    assert [row.status for row in rows] == ["succeeded"] * 2
    assert len(bench.starts()) == 2


def test_workers_are_killed_again_and_again(anubis, bench):
    """Every worker is killed after a different time, except the last one."""
    assert anubis("submit", bench.file, "--rounds", "3").returncode == 0
    kill_worker(bench)
    bench.open_gate(3)
    for moment in [*MOMENTS, *LATE_MOMENTS]:
        kill_at(anubis.start("worker"), bench, moment)
    assert anubis("worker").returncode == 0
    rows = bench.check_whole()
    assert [row.status for row in rows] == ["succeeded"] * 3
    assert len(bench.starts()) == 3


def test_whoever_looks_next_carries_on(anubis, bench):
    """After a crash, users do not have to start workers: watching, following or cancelling drives the remaining runs."""
    kill_at(anubis.start("run", bench.file), bench, "it has printed")
    follower = anubis.start("logs", "-f")
    bench.open_gate()
    out, _ = follower.communicate()
    assert out.startswith(b"first\n1\n2\n")
    until(lambda: all(row.status.final for row in bench.rows()), "the run is final")
    (row,) = bench.check_whole()
    assert row.status == "succeeded"


def test_a_foreground_command_that_is_stopped_is_replaced_when_its_lease_has_expired(anubis, bench):
    """For example by Ctrl-Z: it lives, but does not drive."""
    environment = anubis.environment() | {"ANUBIS_LEASE_S": "1"}
    process = anubis.start("run", bench.file, env=environment)
    until(lambda: MOMENTS["it has printed"](bench), "it has printed")
    os.kill(process.pid, signal.SIGSTOP)
    bench.open_gate()
    until(
        lambda: anubis("history").returncode == 0 and all(row.status.final for row in bench.rows()),
        "another process drives the run",
    )
    os.kill(process.pid, signal.SIGCONT)
    process.communicate()
    assert process.returncode == 0
    (row,) = bench.check_whole()
    assert row.status == "succeeded"
    assert len(bench.starts()) == 1
