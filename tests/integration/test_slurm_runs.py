"""Runs on Slurm as a user has them: the example, refusals, and a driver that is killed."""

import os
import shutil
import signal

import pytest

from anubis.record.files import FolderFiles
from anubis.record.reading import Record
from support.command import Command
from support.gated import Gated, client_of, stored
from support.processes import until
from support.tree import ROOT

EXAMPLE = ROOT / "examples" / "slurm-array"


@pytest.fixture
def anubis(slurm, tmp_path, monkeypatch):
    """The installed command, for runs on Slurm."""
    monkeypatch.setenv("ANUBIS_ENGINE", "slurm")
    (tmp_path / "work").mkdir()
    command = Command(tmp_path / "home", tmp_path / "work")
    yield command
    command.close()
    slurm.call("scancel", "--me")


def test_the_example_is_one_array(anubis, tmp_path, monkeypatch):
    calls = counted(tmp_path, monkeypatch)
    ended = anubis("run", EXAMPLE / "array.toml")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rows = stored(anubis.home)
    assert len(rows) == 8
    assert all(row.values["rate"][0] > 0 for row in rows)
    assert calls.read_text().count("sbatch") == 1
    with client_of(anubis.home) as client:
        (event,) = (each for each in client.runs.events(rows[0].id) if each.kind == "ended")
    assert event.data["queued_s"] >= 0
    assert "in the queue" in anubis("show", rows[0].id).stdout


SWEEP = """
[matrix]
"env.vars.N" = { from = 1, to = 7, step = 1 }
[sweep]
max_parallel = 2
"""


def test_a_sweep_is_one_array_with_the_limit_of_the_sweep(anubis, tmp_path, monkeypatch):
    monkeypatch.setenv("ANUBIS_SLURM_GATHER_S", "2")
    calls = counted(tmp_path, monkeypatch)
    ended = anubis("sweep", "run", anubis.write("sweep.toml", "sleep 0.5", more=SWEEP))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert calls.read_text() == "sbatch --array=0-6%2\n"
    times = [
        (execution.started_s, execution.ended_s)
        for row in stored(anubis.home)
        for execution in record_of(anubis.home, row).executions
    ]
    assert len(times) == 7
    assert max(sum(start <= at < end for start, end in times) for at, _ in times) <= 2


def record_of(home, row):
    return Record(FolderFiles(str(home / "records" / row.id / "a1" / "benchmark" / "0")))


def counted(tmp_path, monkeypatch):
    """The calls of sbatch with their arrays, as lines of a file that is returned."""
    calls, folder = tmp_path / "calls", tmp_path / "counted"
    folder.mkdir()
    (folder / "sbatch").write_text(
        f'#!/bin/sh\nfor word; do case $word in --array=*) echo sbatch $word >> {calls};; esac; done\nexec {shutil.which("sbatch")} "$@"\n'
    )
    (folder / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return calls


def test_what_slurm_refuses_is_shown(anubis, monkeypatch):
    monkeypatch.setenv("ANUBIS_SLURM_PARTITION", "nope")
    ended = anubis("run", anubis.write("bench.toml", "true"))
    assert ended.returncode == 1
    assert "invalid partition specified: nope" in ended.stdout + ended.stderr
    assert anubis.json("status", "@last")["cause"] == "user_error"


def test_without_slurm_a_run_is_refused_at_submit(anubis, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    for program in ("sh", "git"):
        (tmp_path / "bin" / program).symlink_to(shutil.which(program))
    with monkeypatch.context() as without:
        without.setenv("PATH", str(tmp_path / "bin"))
        ended = anubis("run", anubis.write("bench.toml", "true"))
        assert ended.returncode == 2
        assert "install the commands of Slurm" in ended.stderr
        assert "install the commands of Slurm" in anubis("doctor").stdout
    assert "sbatch" in anubis("doctor").stdout


def test_a_killed_driver_loses_nothing(anubis):
    gated = Gated(anubis)
    try:
        first = anubis.start("run", gated.file)
        gated.wait_started()
        first.send_signal(signal.SIGKILL)
        first.wait()
        gated.open_gate()
        ended = anubis("worker")
        assert ended.returncode == 0, ended.stderr
        (row,) = gated.check_whole()
        assert row.status == "succeeded"
    finally:
        gated.close()


def test_a_cancelled_run_has_its_cause(anubis):
    gated = Gated(anubis)
    try:
        first = anubis.start("run", gated.file)
        gated.wait_started()
        anubis("cancel", "--all")
        until(lambda: first.poll() is not None, "the command has ended")
        (row,) = gated.check_whole()
        assert (row.status, row.cause) == ("cancelled", "cancelled")
    finally:
        gated.close()


def test_data_and_scripts_are_on_the_node(anubis, tmp_path):
    (anubis.folder / "data.txt").write_text("17 rows\n")
    (anubis.folder / "train.sh").write_text("cat $1\n")
    target = tmp_path / "node" / "train"
    more = f'[[data.sources]]\nsrc = "file://{anubis.folder}/data.txt"\npath = "{target}"'
    path = anubis.write("bench.toml", f"sh train.sh {target}", more=more)
    ended = anubis("run", path, "--script", "train.sh")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert anubis("logs", "@last").stdout == "17 rows\n"
    target.unlink()
    target.mkdir()
    assert anubis("run", path, "--script", "train.sh").returncode == 1
    status = anubis.json("status", "@last")
    assert (status["cause"], "cannot be put" in status["reason"]) == ("data", True)
