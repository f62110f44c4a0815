"""Runs in containers as a user has them: the example, refusals, secrets, and a driver that is killed."""

import json
import signal

import pytest

from support.command import Command
from support.gated import stored
from support.podman import IMAGE, allow_http, podman, pushed, running_registry  # noqa: F401  a fixture
from support.processes import until
from support.tree import ROOT

EXAMPLE = ROOT / "examples" / "container-without-python" / "copy.toml"


@pytest.fixture
def anubis(podman, tmp_path, monkeypatch):  # noqa: F811
    """The installed command, for containers without a network."""
    monkeypatch.setenv("ANUBIS_CONTAINER_NETWORK", "none")
    monkeypatch.setenv("ANUBIS_ENGINE", "container")
    (tmp_path / "work").mkdir()
    command = Command(tmp_path / "home", tmp_path / "work")
    yield command
    command.close()
    until(lambda: not podman.containers(), "no container is left")


def described(anubis, command, more="", image=IMAGE, env=""):
    return anubis.write("bench.toml", command, more=f'[env]\ndocker_image = "{image}"\n{env}\n{more}')


def test_the_example_gives_its_metric(anubis, podman):  # noqa: F811
    podman("tag", IMAGE, "docker.io/library/busybox:1.36")
    ended = anubis("run", EXAMPLE)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (row,) = stored(anubis.home)
    assert row.values["copy_time"][0] > 0
    machine = anubis.json("show", "@last")["machine"]
    assert machine["image"]["name"] == "busybox:1.36"
    assert "@sha256:" in machine["image"]["digest"]
    assert machine["memory"]["limit_bytes"] == 256 << 20


def test_the_failure_has_its_cause_and_remedy(anubis):
    path = described(anubis, "dd if=/dev/zero of=/dev/null bs=200M count=1")
    ended = anubis("run", path, "--set", "hardware.memory_gb=0.0625")
    assert ended.returncode == 1
    assert "memory" in ended.stdout + ended.stderr
    assert anubis.json("status", "@last")["cause"] == "out_of_memory"


def test_what_the_engine_cannot_do_is_refused_at_submit(anubis, monkeypatch):
    path = described(anubis, "true", env="privileged = true")
    ended = anubis("run", path)
    assert ended.returncode == 2
    assert "ask the operator to allow it" in ended.stderr
    monkeypatch.setenv("ANUBIS_CONTAINER_TOOL", "no-such-tool")
    ended = anubis("run", described(anubis, "true"))
    assert ended.returncode == 2
    assert "install no-such-tool" in ended.stderr
    shown = anubis("doctor").stdout
    assert "install no-such-tool" in shown
    monkeypatch.delenv("ANUBIS_CONTAINER_TOOL")
    assert "podman" in anubis("doctor").stdout


def test_a_secret_is_masked_and_scripts_are_there(anubis, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "a-secret-value")
    monkeypatch.setenv("NOT_PASSED", "a-common-value")
    (anubis.folder / "train.sh").write_text("echo token=$HF_TOKEN other=$NOT_PASSED\n")
    path = described(anubis, "sh ${BAI_SCRIPTS_PATH}/train.sh", env='inherit = ["HF_TOKEN"]')
    ended = anubis("run", path, "--script", "train.sh")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert anubis("logs", "@last").stdout == "token=*** other=\n"
    files = [file.read_bytes() for file in anubis.home.rglob("*") if file.is_file()]
    assert not [content for content in files if b"a-secret-value" in content]


def test_a_killed_driver_loses_nothing(anubis, podman):  # noqa: F811
    path = described(anubis, "sh -c 'until [ -e /anubis/record/go ]; do sleep 0.05; done; echo done'")
    first = anubis.start("run", path)
    record = until(lambda: next(anubis.home.glob("records/*/a1/benchmark/0"), None), "the run is placed")
    until(lambda: "execution_started" in text_of(record / "events.jsonl"), "the benchmark runs")
    first.send_signal(signal.SIGKILL)
    first.wait()
    (record / "go").touch()
    until((record / "exit.json").exists, "the benchmark has ended without its driver")
    ended = anubis("worker")
    assert ended.returncode == 0, ended.stderr
    assert anubis.json("status", "@last")["status"] == "succeeded"
    assert json.loads((record / "facts.json").read_text())["container"] == "podman"


def text_of(path):
    return path.read_text() if path.exists() else ""


def test_a_pull_shows_its_progress(anubis, podman, tmp_path, monkeypatch):  # noqa: F811
    with running_registry(tmp_path / "registry") as registry:
        allow_http(tmp_path, registry.address, monkeypatch)
        name = pushed(podman, registry, "progress:1")
        ended = anubis("run", described(anubis, "true", image=name))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"pulling {name}" in ended.stderr
    assert anubis.json("status", "@last")["reason"] == ""
    assert f"{registry.address}/progress@sha256:" in anubis("show", "@last").stdout


def test_a_tag_that_means_another_image_is_named_by_a_comparison(anubis, podman):  # noqa: F811
    for content in ("first", "second"):
        podman.create("localhost/anubis-test/moved:1", f"LABEL content={content}")
        path = described(anubis, "true", image="localhost/anubis-test/moved:1")
        assert anubis("run", path).returncode == 0
    first, second = (row.id for row in stored(anubis.home))
    compared = anubis("compare", first, second)
    assert "the environment differs: docker_image" in compared.stdout + compared.stderr


def test_a_dataset_is_at_its_path_and_cannot_be_changed(anubis):
    (anubis.folder / "data.txt").write_text("17 rows\n")
    source = f'[[data.sources]]\nsrc = "file://{anubis.folder}/data.txt"\npath = "/data/train"'
    path = described(
        anubis, "sh -c 'cat /data/train/* /data/train 2>&1; touch /data/train/x 2>&1; true'", source
    )
    ended = anubis("run", path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    text = anubis("logs", "@last").stdout
    assert "17 rows" in text
    assert "touch" in text
