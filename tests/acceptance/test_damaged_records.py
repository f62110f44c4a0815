"""A benchmark that spoils its record: its own run ends with a cause, and another run beside it is measured."""

import json
import os
import signal

import pytest

from support.gated import Gated, stored
from support.processes import left_in, until

EXIT = {"version": 1, "code": 0, "signal": None, "cause": None, "reason": "", "extraction": "none"}
#: Every other kind of damage is tried in tests/contract/test_damaged_records.py.
SPOILT = [
    pytest.param(
        "exit.json", lambda path: path.write_text(json.dumps({**EXIT, "reason": None})), id="reason null"
    ),
    pytest.param("exit.json", os.mkfifo, id="exit.json is a FIFO"),
    pytest.param("alive", os.mkfifo, id="alive is a FIFO"),
]


@pytest.fixture
def bench(anubis):
    bench = Gated(anubis)
    yield bench
    bench.close()


@pytest.mark.parametrize(("file", "spoil"), SPOILT)
def test_a_damaged_record_ends_its_own_run_and_no_other(anubis, bench, file, spoil):
    assert anubis("submit", bench.file).returncode == 0
    bench.wait_started()
    (folder,) = [path.parent for path in bench.records("alive")]
    pid = bench.agent()
    os.kill(pid, signal.SIGSTOP)
    (folder / file).unlink(missing_ok=True)
    spoil(folder / file)
    os.kill(pid, signal.SIGKILL)
    watched = anubis("watch")
    assert watched.returncode == 1, watched.stderr
    (row,) = stored(anubis.home)
    assert (row.status, row.cause) == ("failed", "record_damaged")
    assert file in row.reason
    assert "help: " in watched.stdout
    until(lambda: not left_in(anubis.home), "every process of the run is gone")
    assert anubis("show", row.id).returncode == 0
    assert anubis("run", anubis.write("next.toml", "true")).returncode == 0


def test_a_file_in_the_place_of_the_record(anubis, bench):
    first, second = anubis("submit", bench.file, bench.file).stdout.split()
    bench.wait_started()
    (folder,) = [path.parent for path in bench.records("alive")]
    folder.rename(folder.with_name("elsewhere"))
    folder.write_text("a file")
    until(lambda: [row for row in bench.rows() if row.cause], "the first run has ended")
    until(lambda: len(bench.starts()) == 2, "the second run has started")
    bench.open_gate()
    assert anubis("watch", second).returncode == 0
    row, other = bench.rows()
    assert (row.id, row.cause) == (first, "record_damaged")
    assert "not a folder" in row.reason
    assert other.status == "succeeded"


def test_a_benchmark_that_deletes_its_claim_is_not_executed_again(anubis, bench):
    """The engine claims the record in its place, so that the next repeat of a run that is lost does not start."""
    assert anubis("submit", bench.file, "--set", "measure.repeats=2").returncode == 0
    bench.wait_started()
    (alive,) = bench.records("alive")
    alive.unlink()
    bench.open_gate(2)
    until(lambda: all(row.status.final for row in bench.rows()), "the run has ended")
    until(lambda: not left_in(anubis.home), "every process of the run is gone")
    (row,) = bench.rows()
    assert row.status == "failed"
    assert bench.starts() == [f"{row.id} 0"]
