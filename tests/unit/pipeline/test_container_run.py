"""The arguments of ``run``, and the search for the tool, without a container tool."""

import json
import os
import shutil
from dataclasses import replace

import pytest

from anubis.model.cause import Cause
from anubis.model.errors import NotReadyError, StageError
from anubis.model.launch import Mount, Replica, Role
from anubis.pipeline.host import container_run, container_state, container_tool, images
from anubis.pipeline.host.container_agent import ContainerAgent
from anubis.pipeline.host.container_tool import ContainerTool
from anubis.pipeline.host.images import Image
from anubis.pipeline.host.resources import Reserved
from anubis.record import liveness
from support.tree import ROOT

PULLS = ROOT / "tests" / "recorded" / "pulls"
IMAGE = Image(id="sha256:1", digest="a@sha256:2", entry_point=("/entry",), command=("x",), environment={})


@pytest.fixture
def tool(tmp_path):
    """``tool(version)``: a program that prints its version and the arguments of other commands."""

    def program(version, code=0):
        file = tmp_path / "tool"
        file.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo {version} && exit\necho "$@"\nexit {code}\n'
        )
        file.chmod(0o755)
        return ContainerTool(str(file))

    return program


def a_reservation(**given):
    return Reserved(files=None, record="/record", **given)


def a_replica(**role):
    return Replica(
        role=Role(name="benchmark", command=("train",), image="team/image:1", **role),
        rank=0,
        argv=("/anubis/python", "exec", "--options", "o", "--", "train"),
        environment={"TOKEN": "secret"},
        record="/anubis/record",
        address="127.0.0.1",
        mounts=(Mount(target="/anubis/record", source="/home/record", read_only=False),),
    )


def words(tool, tmp_path, replica, reserved=None, network="", image=IMAGE):
    reserved = reserved or a_reservation(paths=[tmp_path / "slot-0.lock"])
    return container_run.words(tool, replica, image, reserved, variables=tmp_path / "v.json", network=network)


def after(option, found):
    return [found[at + 1] for at, word in enumerate(found) if word == option]


def test_the_words_of_a_replica(tool, tmp_path):
    found = words(tool("podman version 5"), tmp_path, a_replica(cpus=0.5, memory_gb=0.5), network="none")
    assert found[found.index("--entrypoint") :] == [
        *("--entrypoint", "/anubis/python", "sha256:1", "exec", "--options", "o", "--", "train"),
    ]
    assert after("--mount", found) == [
        "type=bind,source=/home/record,target=/anubis/record",
        f"type=bind,source={tmp_path}/slot-0.lock,target=/anubis/locks/slot-0.lock,readonly",
        f"type=bind,source={tmp_path}/v.json,target=/anubis/variables.json,readonly",
    ]
    assert after("--cpus", found) == ["0.5"]
    assert after("--memory", found) == after("--memory-swap", found) == [str(1 << 29)]
    assert after("--network", found) == ["none"]
    assert after("--shm-size", found) == [str(container_run.memory_bytes())]
    assert "secret" not in " ".join(found)
    assert "--privileged" not in found


def test_what_is_not_requested_is_not_limited(tool, tmp_path):
    found = words(tool("podman version 5"), tmp_path, a_replica(extended_shm=False, privileged=True))
    assert {"--cpus", "--memory", "--network", "--shm-size", "--device", "--env"}.isdisjoint(found)
    assert "--privileged" in found


def test_more_than_the_machine_has_is_only_recorded(tool, tmp_path):
    found = words(tool("podman version 5"), tmp_path, a_replica(cpus=1e6, memory_gb=1e9))
    assert {"--cpus", "--memory"}.isdisjoint(found)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("podman version 5", ["--device", "nvidia.com/gpu=GPU-a", "--device", "nvidia.com/gpu=GPU-b"]),
        ("Docker version 28", ["--gpus", '"device=GPU-a,GPU-b"']),
    ],
)
def test_each_tool_has_its_own_option_for_gpus(tool, version, expected):
    assert tool(version).gpu_options(["GPU-a", "GPU-b"]) == expected
    assert tool(version).gpu_options([]) == []


def test_a_container_runs_as_the_user_who_owns_the_record(tool, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("os.getegid", lambda: 100)
    assert tool("podman version 5").user == "0:0"
    assert tool("Docker version 28").user == "1000:100"
    rootless = tool("Docker version 28")
    monkeypatch.setattr(
        rootless, "call", lambda *words: "[name=rootless]" if words[0] == "info" else "Docker"
    )
    assert rootless.user == "0:0"
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert tool("Docker version 28").user == "0:0"


def test_the_options_of_the_agent(tmp_path):
    reserved = a_reservation(paths=[tmp_path / "slot-0.lock", tmp_path / "cpu-1.lock"], cpus=["1"], gpus=[])
    replica = container_run.prepared(a_replica(), IMAGE, reserved)
    assert after("--locks", replica.argv) == ["/anubis/locks/slot-0.lock:/anubis/locks/cpu-1.lock"]
    assert after("--image", replica.argv) + after("--image-digest", replica.argv) == [
        "team/image:1",
        "a@sha256:2",
    ]
    assert after("--cpus", replica.argv) + after("--gpus", replica.argv) == ["1", "none"]
    assert replica.argv[-2:] == ("--", "train")


def test_without_a_command_there_must_be_an_entry_point(tmp_path):
    replica = replace(a_replica(), role=Role(name="benchmark", command=(), image="i"), argv=("p", "--"))
    assert container_run.prepared(replica, IMAGE, a_reservation()).argv[-3:] == ("--", "/entry", "x")
    with pytest.raises(StageError) as refused:
        container_run.prepared(replica, replace(IMAGE, entry_point=(), command=()), a_reservation())
    assert refused.value.cause is Cause.NO_ENTRY_POINT


def test_variables_are_in_a_private_file_as_long_as_they_are_needed(tmp_path):
    image = replace(IMAGE, environment={"LD_PRELOAD": "x.so", "PATH": "/bin"})
    with container_run.variables_file(tmp_path, a_replica(), image) as path:
        assert json.loads(path.read_text()) == {"LD_PRELOAD": "x.so", "TOKEN": "secret"}
        assert path.stat().st_mode & 0o077 == 0
        container_run.remove_variables(tmp_path)
        assert path.exists(), "the file of a process that lives is kept"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "variables-0.json").touch()
    container_run.remove_variables(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_first_installed_tool_is_used(tmp_path):
    assert container_tool.found("", str(tmp_path)) is None
    for name in ("docker", "podman"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert container_tool.found("", str(tmp_path)) == str(tmp_path / name)
    assert container_tool.found("docker", str(tmp_path)) == str(tmp_path / "docker")
    assert container_tool.found("nerdctl", str(tmp_path)) is None


def test_a_tool_that_hangs_or_is_gone_does_not_respond(tool, tmp_path, monkeypatch):
    monkeypatch.setattr(container_tool, "PATIENCE_S", 0.01)
    hanging = tool("x")
    (tmp_path / "tool").write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(NotReadyError, match="no response to ps"):
        hanging.call("ps")
    (tmp_path / "tool").unlink()
    for call in (hanging.call, hanging.start):
        with pytest.raises(NotReadyError, match="does not respond"):
            call("ps")


def test_a_user_without_the_right_to_use_the_tool_does_not_wait(tool, tmp_path):
    docker = tool("x")
    (tmp_path / "tool").write_text(
        "#!/bin/sh\necho 'dial unix /var/run/docker.sock: connect: permission denied' >&2\nexit 1\n"
    )
    with pytest.raises(StageError, match="this user may not use") as refused:
        docker.call("ps")
    assert refused.value.cause is Cause.USER_ERROR


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Error: reading manifest 9 in docker.io/library/x: manifest unknown", Cause.IMAGE_NOT_FOUND),
        ("Error response from daemon: manifest for x:9 not found: manifest unknown", Cause.IMAGE_NOT_FOUND),
        (
            "pull access denied for x, repository does not exist or may require 'docker login'",
            Cause.IMAGE_REFUSED,
        ),
        ("unauthorized: authentication required", Cause.IMAGE_REFUSED),
        ("no image found in image index for architecture arm64", Cause.WRONG_ARCHITECTURE),
        ("no matching manifest for linux/arm64/v8 in the manifest list entries", Cause.WRONG_ARCHITECTURE),
        ("write /var/lib/x: no space left on device", Cause.DISK_FULL),
        ("dial tcp 10.0.0.1:443: connect: connection refused", Cause.IMAGE_PULL),
        ("", Cause.IMAGE_PULL),
    ],
)
def test_the_cause_of_a_failed_pull(text, cause):
    failure = images._failure("x:9", text)
    assert failure.cause is cause
    assert failure.remedy == cause.remedy


@pytest.mark.parametrize("path", sorted(PULLS.glob("*.txt")), ids=lambda path: path.stem)
def test_the_cause_of_a_recorded_pull(path):
    """The outputs of Podman 4.3 and Docker 28.2 with a real registry; the name of a file has the tool and the cause."""
    assert images._failure("x:9", path.read_text()).cause.value == path.stem.partition(".")[2]


@pytest.fixture
def attempt(tmp_path):
    """The folder of an attempt with a measured replica and a server, and the names of their containers."""
    run = "01a20313-1d6c-7fa3-8a47-2d8808bbce32"
    folder = tmp_path / run / "a2"
    for role in ("benchmark", "server"):
        (folder / role / "0").mkdir(parents=True)
    return folder, f"anubis-{run}.2", f"anubis-{run}.2.server.0"


def test_containers_are_unneeded_when_their_run_has_ended(attempt, tmp_path):
    folder, measured, server = attempt
    assert [container_state.is_unneeded(name, tmp_path) for name in (measured, server)] == [False, False]
    (folder / "benchmark/0/exit.json").touch()
    agent = liveness.claim(str(folder / "server/0"))
    assert container_state.is_unneeded(measured, tmp_path)
    assert not container_state.is_unneeded(server, tmp_path), "it writes its result"
    os.close(agent)
    assert container_state.is_unneeded(server, tmp_path)
    shutil.rmtree(folder)
    assert [container_state.is_unneeded(name, tmp_path) for name in (measured, server)] == [True, True]
    for name in ("anubis-other.1", "postgres", "anubis-1.2.3"):
        assert not container_state.is_unneeded(name, tmp_path)


def test_the_containers_of_an_attempt_belong_together(attempt):
    _, measured, server = attempt
    assert container_state.first_of(server) == container_state.first_of(measured) == measured


def test_the_agent_is_built_once_for_each_version(tmp_path, monkeypatch):
    agent = ContainerAgent(tmp_path)
    agent.build()
    assert {path.name for path in agent.folder.iterdir()} >= {"loader", "bin", "libraries", "agent.zip"}
    changed = agent.folder.stat().st_mtime_ns
    ContainerAgent(tmp_path).build()
    assert agent.folder.stat().st_mtime_ns == changed
    assert list(tmp_path.iterdir()) == [agent.folder]


def test_a_python_without_a_loader_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("anubis.pipeline.host.container_agent._libraries", list)
    with pytest.raises(StageError, match="no dynamic loader"):
        ContainerAgent(tmp_path).build()
    assert list(tmp_path.iterdir()) == []
