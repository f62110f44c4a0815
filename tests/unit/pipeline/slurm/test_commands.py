"""Calls of Slurm's programs: what their words mean. The programs are shell scripts."""

import os
import time
from pathlib import Path

import pytest

from anubis.pipeline.slurm import commands
from anubis.pipeline.slurm.commands import (
    Commands,
    SlurmAwayError,
    SlurmError,
    SlurmFullError,
    SlurmNoAccountingError,
)


@pytest.fixture
def calling(tmp_path, monkeypatch):
    """``calling(program, script)``: the commands with this program."""
    monkeypatch.setattr(commands, "PAUSE_S", 0.0)

    def made(program, script):
        path = tmp_path / program
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return Commands({"PATH": f"{tmp_path}:{os.defpath}", "SECRET_TOKEN": "x", "SLURM_JOB_ID": "1"})

    return made


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("sbatch: error: Batch job submission failed: Invalid partition name specified", SlurmError),
        ("sbatch: error: Unable to contact slurm controller (connect failure)", SlurmAwayError),
        (
            "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
            SlurmAwayError,
        ),
        ("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying", SlurmAwayError),
        ("sbatch: error: AssocMaxSubmitJobLimit", SlurmFullError),
        ("sbatch: error: QOSMaxSubmitJobPerUserLimit", SlurmFullError),
        ("slurm accounting storage is disabled", SlurmNoAccountingError),
    ],
)
def test_an_error_has_a_kind(calling, words, kind):
    with pytest.raises(SlurmError) as caught:
        calling("sbatch", f"echo '{words}' >&2; exit 1").submit((), "")
    assert type(caught.value) is kind
    assert caught.value.message == words.removeprefix("sbatch: error: ")


def test_the_id_is_read_and_secrets_are_not_passed(calling):
    script = 'cat > "$0.script"; env > "$0.env"; echo "17;cluster"'
    made = calling("sbatch", script)
    assert made.submit(("--array=0-1",), "#!/bin/sh\n") == "17"
    folder = Path(made.program).parent
    passed = (folder / "sbatch.env").read_text()
    assert "SECRET_TOKEN" not in passed
    assert "SLURM_JOB_ID" not in passed
    assert (folder / "sbatch.script").read_text() == "#!/bin/sh\n"


def test_no_id_no_json_and_no_program_mean_that_nothing_is_known(calling, tmp_path):
    with pytest.raises(SlurmAwayError, match="printed no id"):
        calling("sbatch", "echo hello").submit((), "")
    with pytest.raises(SlurmAwayError, match="no valid JSON"):
        calling("squeue", "echo '{'").queue()
    with pytest.raises(SlurmAwayError, match="cannot be started"):
        Commands({"PATH": "/no/such/folder"}).queue()


def test_a_command_that_hangs_is_ended(calling, monkeypatch):
    monkeypatch.setattr(commands, "PATIENCE_S", 0.05)
    with pytest.raises(SlurmAwayError, match="did not end"):
        calling("squeue", "exec sleep 60").queue()


def test_two_calls_have_a_pause_between_them(calling, monkeypatch):
    made = calling("scancel", "exit 0")
    monkeypatch.setattr(commands, "PAUSE_S", 3600.0)
    now_s = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    waited = []
    monkeypatch.setattr(time, "sleep", waited.append)
    made.cancel(["1_0"])
    assert not made.may_call()
    made.cancel(["1_1"])
    assert max(waited) == pytest.approx(3600.0)  # subprocess sleeps too, for less
    assert made.calls == 2
