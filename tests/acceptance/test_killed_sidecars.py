"""kill -9 and STOP of the small processes beside a benchmark: no value is wrong, and none that the log holds is lost."""

import os
import signal
from pathlib import Path

import pytest

from anubis.agent.process_tree import command_line
from support.gated import Gated, client_of
from support.processes import left_in, until

BEFORE = 266


@pytest.fixture
def bench(anubis):
    """Prints values before and after the gate."""
    bench = Gated(anubis, extra=f"seq -f rate=%g {BEFORE}")
    yield bench
    bench.close()


def sidecar(bench, verb):
    """Waits for the process of this verb; its id."""

    def look():
        return next((pid for pid in left_in(bench.home) if f" {verb} --record " in command_line(pid)), None)

    return until(look, f"{verb} runs")


def rates(anubis, row):
    with client_of(anubis.home) as client:
        return list(client.results.samples(row.id, "rate").values)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
@pytest.mark.parametrize("verb", ["extract", "sample"])
def test_a_run_without_a_sidecar_has_all_its_values(anubis, bench, verb, number):
    process = anubis.start("run", bench.file)
    pid = sidecar(bench, verb)
    if verb == "extract":
        until(
            lambda: any(path.stat().st_size > 1000 for path in bench.records("samples")), "it has read values"
        )
    os.kill(pid, number)
    bench.open_gate()
    process.communicate()
    assert process.returncode == 0
    (row,) = bench.rows()
    assert row.values["rate"] == (0.5, "1/s")
    assert rates(anubis, row) == [*range(1, BEFORE + 1), 0.5]
    until(lambda: not left_in(anubis.home), "every process of the run is gone")


def test_values_that_the_log_of_a_lost_run_holds_are_stored(anubis, bench):
    process = anubis.start("run", bench.file)
    bench.wait_started()
    until(lambda: any(b"rate=266\n" in out for out in bench.stdouts()), "all values are in the log")
    os.kill(bench.agent(), signal.SIGKILL)
    process.communicate()
    (row,) = bench.rows()
    assert (row.status, row.cause, row.values) == ("failed", "lost", {})
    assert rates(anubis, row) == [*range(1, BEFORE + 1)]


def test_a_run_whose_values_cannot_be_read_does_not_succeed(anubis, bench):
    """Something in the record makes every extraction fail."""
    process = anubis.start("run", bench.file)
    pid = sidecar(bench, "extract")
    until(lambda: bench.records("samples"), "it has begun")
    os.kill(pid, signal.SIGKILL)
    (samples,) = bench.records("samples")
    samples.unlink()
    samples.mkdir()
    bench.open_gate()
    out, _ = process.communicate()
    assert process.returncode == 1
    (row,) = bench.rows()
    assert (row.status, row.cause, row.values) == ("failed", "extraction_failed", {})
    assert b"the output" in out
    assert not list(samples.parent.glob("*.part"))


def test_a_stopped_worker_is_replaced_and_yields_when_it_continues(anubis, bench):
    environment = {**anubis.environment(), "ANUBIS_LEASE_S": "1"}
    anubis.environment = lambda: environment
    assert anubis("submit", bench.file).returncode == 0
    bench.wait_started()
    lock = bench.home / "worker.lock"
    (pid,) = until(lambda: workers(bench), "a worker works")
    os.kill(pid, signal.SIGSTOP)
    until(lambda: state_of(pid) == "T", "it has stopped")
    lock.write_text(lock.read_text().replace('"monotonic_s": ', '"monotonic_s": -'))
    assert anubis("submit", bench.file).returncode == 0
    (other,) = until(lambda: workers(bench) - {pid}, "another worker works")
    bench.open_gate(2)
    until(lambda: all(row.status.final for row in bench.rows()), "both runs are final")
    os.kill(pid, signal.SIGCONT)
    until(lambda: state_of(pid) in {"", "Z"}, "the first worker has ended")
    rows = bench.rows()
    assert [row.status for row in rows] == ["succeeded"] * 2
    assert len(bench.starts()) == 2
    until(lambda: state_of(other) in {"", "Z"}, "the second worker has ended")


def workers(bench):
    return {pid for pid in left_in(bench.home) if command_line(pid).endswith("-m anubis worker")}


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""
