"""Images: pulled from a real registry once for many runs, pinned by digest, and refused with a cause."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from anubis.model.cause import Cause
from anubis.model.errors import NotReadyError, StageError
from anubis.pipeline.host import images
from anubis.pipeline.host.container_tool import ContainerTool
from anubis.pipeline.host.images import Images
from support.podman import allow_http, podman, pushed, running_registry  # noqa: F401  a fixture
from support.processes import until

#: "anubis" with the password "secret": htpasswd -Bbn anubis secret
PASSWORD = "anubis:$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC"


@pytest.fixture
def registry(podman, tmp_path, monkeypatch):  # noqa: F811
    with running_registry(tmp_path / "registry") as running:
        allow_http(tmp_path, running.address, monkeypatch)
        yield running


@pytest.fixture
def stored(podman, tmp_path):  # noqa: F811
    """Images as a new process has them."""
    return lambda: Images(ContainerTool(podman.program), tmp_path / "container")


def pulled(stored, name):
    """The image once its pull has ended."""

    def look():
        with contextlib.suppress(NotReadyError):
            return stored.get(name)

    return until(look, f"{name} is pulled")


def test_an_image_is_pulled_and_pinned(podman, registry, stored):  # noqa: F811
    name = pushed(podman, registry, "team/benchmark:1")
    with pytest.raises(NotReadyError, match="pulling"):
        (first := stored()).get(name)
    image = pulled(first, name)
    assert image.digest.startswith(f"{registry.address}/team/benchmark@sha256:")
    podman("untag", name, name)
    assert pulled(stored(), image.digest).id == image.id


def test_many_runs_share_one_pull(podman, registry, tmp_path):  # noqa: F811
    name = pushed(podman, registry, "shared:1")
    gate, pulls, program = tmp_path / "gate", tmp_path / "pulls", tmp_path / "podman"
    os.mkfifo(gate)
    program.write_text(
        f'#!/bin/sh\n[ "$1" = pull ] && echo layer 7 && echo >> {pulls} && cat {gate}\nexec {podman.program} "$@"\n'
    )
    program.chmod(0o755)
    first, second = (Images(ContainerTool(str(program)), tmp_path / "container") for _ in range(2))
    until(lambda: "layer 7" in waiting(first, name), "the progress is shown")
    for each in (first, second, first, second):
        assert waiting(each, name).startswith(f"pulling {name}")
    gate.write_text("go on")
    assert pulled(first, name).id == pulled(second, name).id
    assert pulls.read_text() == "\n"


def waiting(stored, name):
    with pytest.raises(NotReadyError) as delayed:
        stored.get(name)
    return delayed.value.message


def test_a_pull_that_its_process_does_not_survive_is_repeated(podman, registry, stored, tmp_path):  # noqa: F811
    name = pushed(podman, registry, "again:1")
    code = (
        "import sys, pathlib; from anubis.pipeline.host.container_tool import ContainerTool; "
        "from anubis.pipeline.host.images import Images\n"
        "try: Images(ContainerTool(sys.argv[1]), pathlib.Path(sys.argv[2])).get(sys.argv[3])\n"
        "except Exception: pass\n"
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    )
    words = [podman.program, tmp_path / "container", name]
    killed = subprocess.run([sys.executable, "-c", code, *map(str, words)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert pulled(stored(), name).digest


def cause_of(stored, name):
    with pytest.raises(StageError) as refused:
        pulled(stored, name)
    assert name in refused.value.message
    assert refused.value.remedy
    return refused.value.cause


def test_an_image_that_does_not_exist(registry, stored, monkeypatch):
    name = registry.image("no/such:image")
    first = stored()
    assert cause_of(first, name) is Cause.IMAGE_NOT_FOUND
    with pytest.raises(StageError):  # other runs get the same answer at once
        first.get(name)
    monkeypatch.setattr(images, "FAILED_S", -1.0)
    first._failed.clear()
    with pytest.raises(NotReadyError):  # later, it is tried again
        first.get(name)
    assert cause_of(first, name) is Cause.IMAGE_NOT_FOUND


def test_a_registry_that_refuses_the_pull(podman, tmp_path, stored, monkeypatch):  # noqa: F811
    users = tmp_path / "users"
    users.write_text(PASSWORD)
    extra = f"auth: {{htpasswd: {{realm: test, path: {users}}}}}\n"
    with running_registry(tmp_path / "registry", extra=extra) as registry:
        allow_http(tmp_path, registry.address, monkeypatch)
        assert cause_of(stored(), registry.image("team/private:1")) is Cause.IMAGE_REFUSED


def test_a_registry_that_is_away(podman, tmp_path, stored, monkeypatch):  # noqa: F811
    allow_http(tmp_path, "127.0.0.1:1", monkeypatch)
    assert cause_of(stored(), "127.0.0.1:1/team/benchmark:1") is Cause.IMAGE_PULL


def test_an_image_of_the_registry_for_another_processor(podman, registry, stored):  # noqa: F811
    name = registry.image("other:1")
    podman.create(name, architecture="s390x")
    podman("push", "--quiet", name)
    podman("untag", name, name)
    assert cause_of(stored(), name) is Cause.WRONG_ARCHITECTURE


def test_a_name_without_a_registry_is_one_of_docker_hub():
    assert images.qualified("python:3.12") == "docker.io/library/python:3.12"
    assert images.qualified("team/image") == "docker.io/team/image"
    for name in ("localhost/a:1", "ghcr.io/a/b", "host:5000/a", "docker.io/library/python@sha256:00"):
        assert images.qualified(name) == name
