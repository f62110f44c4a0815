"""A run that goes on without its terminal: submitted, watched, followed, cancelled, purged."""

import fcntl
import os
import signal
import subprocess
import termios

import pytest

from support.command import BIN
from support.gated import STDOUT, Gated, stored
from support.processes import until


@pytest.fixture
def bench(anubis):
    bench = Gated(anubis)
    yield bench
    bench.close()


def test_from_submission_to_the_end(anubis, bench):
    """Who submits gets the id, who follows every byte, who watches the outcome; the worker leaves when all is done."""
    run_id = anubis("submit", bench.file).stdout.strip()
    bench.wait_started()
    follower, watcher = (
        anubis.start("logs", "-f", "--stdout", run_id),
        anubis.start("watch", run_id, text=True),
    )
    bench.open_gate()
    followed, _ = follower.communicate()
    watched, _ = watcher.communicate()
    assert (follower.returncode, followed) == (0, STDOUT % 0)
    assert watcher.returncode == 0
    assert "rate" in watched
    assert "0.5" in watched
    (row,) = bench.check_whole()
    assert row.id == run_id


def test_a_run_is_cancelled_while_it_runs_and_one_while_it_waits(anubis, bench):
    ids = anubis("submit", bench.file, bench.file).stdout.split()
    bench.wait_started()
    assert anubis.json("status", ids[1])["status"] == "place"
    cancelled = anubis("cancel", *ids, "--why", "wrong data")
    assert cancelled.stdout.count("cancelling") == 2
    for run_id in ids:
        assert anubis("watch", run_id).returncode == 5
    first, second = bench.check_whole()
    assert (first.status, second.status) == ("cancelled", "cancelled")
    assert bench.starts() == [f"{ids[0]} 0"]
    assert anubis("logs", ids[0], text=False).stdout == b"first\n"
    (asked,) = [
        event for event in anubis.json("show", ids[0])["events"] if event["kind"] == "cancel_requested"
    ]
    assert asked["message"] == "wrong data"


def test_a_run_is_cancelled_when_nobody_drives_it(anubis, bench):
    """The command was killed; a cancellation starts a process that ends the run."""
    process = anubis.start("run", bench.file)
    bench.wait_started()
    process.kill()
    process.communicate()
    assert anubis("cancel", "@last").returncode == 0
    until(lambda: bench.rows()[0].status.final, "the run is final")
    (row,) = bench.check_whole()
    assert row.status == "cancelled"


def test_purged_runs_leave_no_trace(anubis, bench):
    bench.open_gate(2)
    ids = anubis("submit", bench.file, "--rounds", "2").stdout.split()
    assert [anubis("watch", run_id).returncode for run_id in ids] == [0, 0]
    assert anubis("purge", "--yes", *ids).stdout.split() == ids
    assert bench.rows() == []
    assert list((bench.home / "records").iterdir()) == []
    assert anubis("status", ids[0]).returncode == 2
    assert anubis("gc", "--older-than", "0s").stdout == "nothing to do\n"


def test_the_terminals_ctrl_c_reaches_the_command_and_not_the_agent(anubis, bench):
    """A terminal interrupts the whole foreground group; the benchmark is ended by the agent, once, and in order."""
    process = anubis.start("run", bench.file, process_group=0, text=True)
    bench.wait_started()
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 5
    assert "cancelled" in out
    (row,) = bench.check_whole()
    assert (row.status, row.cause) == ("cancelled", "cancelled")


def test_a_polite_kill_leaves_the_run_to_a_worker(anubis, bench):
    process = anubis.start("run", bench.file)
    bench.wait_started()
    process.terminate()
    _, err = process.communicate()
    assert process.returncode == 130
    assert b"anubis watch" in err
    carried_on(bench)


def test_a_terminal_that_goes_away_leaves_the_run_to_a_worker(anubis, bench, monkeypatch):
    """A closed window or a broken connection: the run ends without further commands."""
    environment = {**anubis.environment(), "TERM": "xterm"}
    monkeypatch.setattr(anubis, "environment", lambda: environment)
    ours, theirs = os.openpty()
    process = anubis.start(
        "run",
        bench.file,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    bench.wait_started()
    os.close(ours)
    process.wait()
    carried_on(bench)


def test_nohup_is_heard(anubis, bench):
    process = anubis.start("run", bench.file, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    bench.wait_started()
    process.send_signal(signal.SIGHUP)
    bench.open_gate()
    process.communicate()
    assert process.returncode == 0


def carried_on(bench):
    bench.open_gate()
    until(lambda: bench.rows()[0].status.final, "the run is final")
    (row,) = bench.check_whole()
    assert row.status == "succeeded"


@pytest.mark.parametrize("written_bytes", [0, 1, 50_000, 100_000])
def test_a_sweep_is_stored_whole_or_not_at_all(anubis, bench, written_bytes):
    """Killed while it submits, at whatever moment: there is all of it or nothing."""
    file = anubis.write(
        "sweep.toml", "true", more='[matrix]\n"env.vars.N" = { from = 1, to = 300, step = 1 }\n'
    )
    process = anubis.start("submit", file)
    log = bench.home / "anubis.db-wal"

    def writes():
        return process.poll() is not None or (log.exists() and log.stat().st_size >= written_bytes)

    until(writes, "it writes")
    process.kill()
    process.communicate()
    assert len(bench.rows()) in {0, 300}


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_lead_nowhere(anubis, closed):
    """As some schedulers start their commands: no file of ours may take the number of a standard stream."""
    file = anubis.write("hello.toml", "echo hello")
    words = ["sh", "-c", f'"{BIN}/anubis" run {file.name} {closed}']
    ended = subprocess.run(words, cwd=anubis.folder, env=anubis.environment(), check=False)
    assert ended.returncode == 0
    assert [row.status for row in stored(anubis.home)] == ["succeeded"]
    assert anubis("logs").stdout == "hello\n"
