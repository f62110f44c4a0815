"""The script of an attempt, executed by a shell as on a node."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from anubis.model.launch import Launch, Mount, Replica, Role
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
    launch = Launch(replicas=(replica,))
    path.write_bytes(script.scripts(launch, str(tmp_path / "spool"), **options)[script.ELEMENT])
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


SRUN = """#!/bin/sh
while [ "$1" != sh ]; do shift; done
SLURM_PROCID=0 "$@" & SLURM_PROCID=1 "$@" &
wait
"""


@pytest.fixture
def two(replica, tmp_path, monkeypatch):
    """Two replicas, executed by substitutes of the programs of Slurm."""
    (tmp_path / "bin").mkdir()
    for name, text in (("srun", SRUN), ("scontrol", "#!/bin/sh\necho a1 a2\n"), ("scancel", "#!/bin/sh\n")):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setitem(NODE, "PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    replicas = []
    for rank in range(2):
        record = tmp_path / "record" / str(rank)
        record.mkdir()
        replicas.append(replace(replica, rank=rank, record=str(record), address=f"address-{rank}"))
    return replicas


def start(two, tmp_path, *commands):
    replicas = [replace(each, argv=("sh", "-c", words)) for each, words in zip(two, commands, strict=True)]
    for name, content in script.scripts(Launch(replicas=tuple(replicas)), str(tmp_path / "spool")).items():
        (tmp_path / "spool" / name).write_bytes(content)
    subprocess.run(["sh", tmp_path / "spool" / script.ELEMENT], check=False, env=NODE)
    failed = tmp_path / "spool" / script.FAILED
    return failed.read_text() if failed.exists() else ""


def test_each_replica_knows_the_nodes_of_all(two, tmp_path):
    environment = {"FIRST": "address-0", "ALL": "it's address-1:80 $HOME address-0"}
    two = [replace(each, environment=environment) for each in two]
    write = 'printf \'%s\\n\' "$FIRST" "$ALL" > {0}/seen; touch {0}/exit.json'
    assert start(two, tmp_path, *(write.format(each.record) for each in two)) == ""
    for rank in range(2):
        assert (tmp_path / "record" / str(rank) / "seen").read_text() == "a1\nit's a2:80 $HOME a1\n"


def test_an_agent_without_a_result_is_named_and_ends_the_others(two, tmp_path):
    ends = "touch {0}/alive {0}/exit.json"
    vanishes = "touch {0}/alive; kill -KILL $$"
    failed = start(two, tmp_path, ends.format(two[0].record), vanishes.format(two[1].record))
    assert failed == "lost The agent of benchmark 1 vanished without writing its result.\n"
    (tmp_path / "spool" / script.STARTED).unlink()
    (tmp_path / "spool" / script.FAILED).unlink()
    (tmp_path / "record" / "1" / "alive").unlink()
    assert "benchmark 1 did not start on" in start(two, tmp_path, ends.format(two[0].record), "exit 127")


def test_a_launcher_on_one_node_knows_its_name(replica, tmp_path, two):
    alone = replace(
        replica, address="address-0", environment={"A": "address-0:1"}, argv=("sh", "-c", "echo $A > seen")
    )
    for name, content in script.scripts(Launch(replicas=(alone,)), str(tmp_path / "spool")).items():
        (tmp_path / "spool" / name).write_bytes(content)
    (tmp_path / "bin" / "scontrol").write_text("#!/bin/sh\necho a1\n")
    subprocess.run(["sh", tmp_path / "spool" / script.ELEMENT], check=True, env=NODE)
    assert (tmp_path / "spool" / "seen").read_text() == "a1:1\n"
