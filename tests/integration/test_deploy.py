"""The files of ``deploy``: the image is built from the checkout and serves, the unit is valid, compose names what exists."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from support.command import BIN, Command
from support.podman import podman  # noqa: F401  a fixture
from support.processes import until
from support.requests import ask
from support.tree import ROOT
from support.wheels import files_of_python, wheels

DEPLOY = ROOT / "deploy"
BASE, IMAGE = "localhost/anubis-test/python:1", "localhost/anubis-test/anubis:1"
#: As in the unit and in compose.yaml.
GRACE_S = 60


@pytest.fixture(scope="module")
def image(podman):  # noqa: F811
    found = wheels()
    folder = Path(sys.base_prefix) / "bin"
    podman.create(BASE, f"ENV PATH={folder}:/bin", files=files_of_python())
    words = ["--build-arg", f"BASE={BASE}", "--build-arg", "PIP_OPTIONS=--no-index --find-links /wheels"]
    words += ["--volume", f"{found}:/wheels:ro", "--network", "none", "--pull-never"]
    podman("build", "--quiet", "--file", DEPLOY / "Containerfile", *words, "--tag", IMAGE, ROOT)
    return IMAGE


@pytest.fixture
def anubis(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return Command(tmp_path / "client", folder)


def log_of(podman, name):  # noqa: F811
    """What a container has printed on both streams."""
    ended = subprocess.run([podman.program, "logs", name], capture_output=True, text=True, check=False)
    return ended.stdout + ended.stderr


@pytest.fixture
def served(podman, image):  # noqa: F811
    """A container of the image in the network of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    name = f"anubis-test-{os.getpid()}"
    podman(
        "run", "--detach", "--name", name, "--network", "host", image,
        "serve", "--listen", f"127.0.0.1:{port}",
    )  # fmt: skip
    running = SimpleNamespace(name=name, url=f"http://127.0.0.1:{port}")

    def is_ready():
        state = podman("inspect", name, "--format", "{{.State.Running}}").strip()
        assert state == "true", log_of(podman, name)
        try:
            return ask(running, "GET", "/readyz")[0] == 200
        except OSError:
            return False

    until(is_ready, "the service is ready")
    return running


@pytest.mark.timeout(600)  # the image is built
def test_the_image_serves_a_run_and_ends_in_time(podman, served, anubis):  # noqa: F811
    assert ask(served, "GET", "/healthz")[0] == 200
    assert anubis("register", served.url).returncode == 0
    anubis.write(
        "a.toml",
        "echo score=1",
        more='[[output.metrics]]\nname = "score"\nunits = "1"\npattern = "score=(.*)"\n',
    )
    text = (anubis.folder / "a.toml").read_text()
    status, _, body = ask(served, "POST", "/api/v1/runs", {"descriptors": [{"text": text, "folder": "/tmp"}]})
    assert status == 201, body
    watched = anubis("watch", body["runs"][0]["id"])
    assert watched.returncode == 0, watched.stdout + watched.stderr + log_of(podman, served.name)
    health = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["service"]["healthcheck"][
        "test"
    ]
    assert health[0] == "CMD"
    podman("exec", served.name, *[word.replace("http://127.0.0.1:8080", served.url) for word in health[1:]])
    podman("stop", "--time", GRACE_S, served.name)
    assert podman("inspect", served.name, "--format", "{{.State.ExitCode}}").strip() == "0"


def test_compose_builds_the_image_and_gives_both_services_time_to_end():
    content = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    service = content["services"]["service"]
    build = service["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).samefile(DEPLOY / "Containerfile")
    assert service["stop_grace_period"] == f"{GRACE_S}s"
    volumes = [volume.split(":")[0] for each in content["services"].values() for volume in each["volumes"]]
    assert sorted(volumes) == sorted(content["volumes"])
    assert {each["network_mode"] for each in content["services"].values()} == {"host"}
    assert "listen_addresses=127.0.0.1" in content["services"]["database"]["command"]


@pytest.fixture
def unit(tmp_path):
    """The unit with the program of this environment, because systemd checks that it exists."""
    path = tmp_path / "anubis.service"
    text = (DEPLOY / "anubis.service").read_text()
    assert "ExecStart=/opt/anubis/bin/anubis serve " in text
    path.write_text(text.replace("/opt/anubis/bin/anubis", str(BIN / "anubis")))
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd-analyze: apt-get install systemd")
    return path


def test_the_unit_is_valid(unit):
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_gives_the_service_few_rights(unit):
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=40", unit],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
