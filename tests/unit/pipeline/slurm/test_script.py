"""The script of an attempt, executed by a shell as on a node."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from anubis.model.launch import Mount, Replica, Role
from anubis.pipeline.slurm import script

NODE = {"SLURM_ARRAY_JOB_ID": "17", "SLURM_ARRAY_TASK_ID": "0", "PATH": os.environ["PATH"]}
PRINT = ("import os, sys; print({name: os.environ.get(name) for name in sys.argv[1:]})",)


@pytest.fixture
def replica(tmp_path):
    (tmp_path / "record").mkdir()
    (tmp_path / "spool").mkdir()
    return Replica(
        role=Role(name="benchmark", command=("true",)),
        rank=0,
        argv=(sys.executable, "-c", *PRINT, "A", "B C", "CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID"),
        environment={
            "A": "it's $HOME\nnext",
            "CUDA_VISIBLE_DEVICES": "7",
            "SLURM_JOB_ID": "1",
            "bad-name": "x",
        },
        record=str(tmp_path / "record"),
        address="",
    )


def executed(replica, tmp_path, **options):
    """Exit code, output, and the note about a failure."""
    path = tmp_path / "spool" / "script"
    path.write_bytes(script.element(replica, str(tmp_path / "spool"), **options))
    code = subprocess.run(["sh", path], check=False, env={**NODE, "CUDA_VISIBLE_DEVICES": "0"}).returncode
    log, failed = tmp_path / "record" / "agent.log", tmp_path / "spool" / script.FAILED
    return code, log.read_text() if log.exists() else "", failed.read_text() if failed.exists() else ""


def test_the_environment_is_that_of_the_submitter_without_the_variables_of_slurm(replica, tmp_path):
    code, printed, _ = executed(replica, tmp_path)
    assert code == 0
    assert eval(printed) == {
        "A": "it's $HOME\nnext",
        "B C": None,
        "CUDA_VISIBLE_DEVICES": "0",
        "SLURM_JOB_ID": None,
    }
    assert (tmp_path / "spool" / script.STARTED).read_text() == "17_0\n"


def test_variables_of_the_descriptor_win(replica, tmp_path):
    role = replace(replica.role, environment={"CUDA_VISIBLE_DEVICES": "7"})
    assert eval(executed(replace(replica, role=role), tmp_path)[1])["CUDA_VISIBLE_DEVICES"] == "7"


def test_a_second_element_executes_nothing(replica, tmp_path):
    assert executed(replica, tmp_path)[1] != ""
    (tmp_path / "record" / "agent.log").unlink()
    assert executed(replica, tmp_path) == (0, "", "")


def test_set_up_that_fails_is_noted_with_its_cause(replica, tmp_path):
    code, printed, failed = executed(replica, tmp_path, setup="echo no licence\nfalse")
    assert (code, failed) == (script.FAILED_CODE, "user_error the set-up lines failed\n")
    assert "no licence" in printed


def test_data_are_links_that_replace_nothing(replica, tmp_path):
    (tmp_path / "tree").mkdir()
    target = tmp_path / "node" / "it's data"
    linked = replace(replica, mounts=(Mount(target=str(target), source=str(tmp_path / "tree")),))
    assert executed(linked, tmp_path)[0] == 0
    assert target.readlink() == tmp_path / "tree"
    target.unlink()
    target.mkdir()
    (tmp_path / "spool" / script.STARTED).unlink()
    code, _, failed = executed(linked, tmp_path)
    assert code == script.FAILED_CODE
    assert failed.startswith("data ")
    assert list(target.iterdir()) == []


def test_a_node_that_cannot_read_the_folder_says_so(tmp_path):
    text = script.of_array(str(tmp_path / "elements"), str(tmp_path))
    ended = subprocess.run(["sh"], input=text, text=True, check=False, capture_output=True, env=NODE)
    assert ended.returncode == script.FAILED_CODE
    assert "file system that all nodes share" in ended.stdout
