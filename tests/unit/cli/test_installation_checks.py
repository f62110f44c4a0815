import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from anubis.cli.doctor import installation_checks
from anubis.cli.doctor.installation_checks import State, installation
from anubis.settings import Settings

NEEDED = 2**30


@pytest.fixture
def settings(tmp_path):
    return replace(Settings.from_env({"ANUBIS_HOME": str(tmp_path / "home")}), min_free_bytes=NEEDED)


def checks(settings):
    return {check.name: check for check in installation(settings)}


@pytest.mark.parametrize(
    ("free", "state"),
    [
        (NEEDED - 1, State.FAIL),
        (NEEDED, State.WARN),
        (10 * NEEDED - 1, State.WARN),
        (10 * NEEDED, State.OK),
    ],
)
def test_free_space(settings, monkeypatch, free, state):
    monkeypatch.setattr(installation_checks.shutil, "disk_usage", lambda _path: SimpleNamespace(free=free))
    disk = checks(settings)["disk"]
    assert disk.state is state
    assert disk.remedy == ("" if state is State.OK else "free space: anubis gc, anubis purge")
    assert ("at least 1.00 GiB required" in disk.found) == (state is State.FAIL)


def test_a_home_that_cannot_be_created_ends_the_checks(settings):
    settings.home.parent.mkdir(parents=True, exist_ok=True)
    settings.home.write_text("a file")
    found = checks(settings)
    assert list(found) == ["python", "home"]
    assert found["home"].state is State.FAIL
    assert found["home"].remedy == "set ANUBIS_HOME to a folder that can be created"


def test_a_home_of_another_user_is_a_failure(settings, monkeypatch):
    monkeypatch.setattr(installation_checks.os, "access", lambda *_: False)
    found = checks(settings)["home"]
    assert (found.state, found.remedy) == (State.FAIL, "set ANUBIS_HOME to a folder that you own")


def test_an_old_python_is_a_failure(settings, monkeypatch):
    assert checks(settings)["python"].state is State.OK
    monkeypatch.setattr(
        installation_checks, "OLDEST_PYTHON", (sys.version_info.major, sys.version_info.minor + 1)
    )
    found = checks(settings)["python"]
    assert (found.state, found.remedy) == (State.FAIL, "install Python 3.11 or newer")


@pytest.mark.parametrize(
    ("tool", "found", "remedy"),
    [("podman", "/bin/podman", ""), ("", "not usable here", "install Podman or Docker")],
)
def test_the_program_of_an_engine_is_shown_and_one_that_is_missing_is_no_problem(
    settings, monkeypatch, tool, found, remedy
):
    monkeypatch.setattr(
        "anubis.pipeline.host.container_tool.found", lambda *_: f"/bin/{tool}" if tool else None
    )
    check = checks(settings)["engine container"]
    assert check.state is State.OK
    assert check.found.startswith(found)
    assert check.remedy.startswith(remedy)


def test_the_bucket(settings, bucket_environ, bucket_server):
    assert "bucket" not in checks(settings)
    with_bucket = replace(
        settings,
        bucket=bucket_environ["ANUBIS_BUCKET"],
        bucket_endpoint=bucket_environ["ANUBIS_BUCKET_ENDPOINT"],
    )
    assert checks(with_bucket)["bucket"].state is State.OK
    missing = checks(replace(with_bucket, bucket="s3://missing-bucket"))["bucket"]
    assert (missing.state, missing.remedy) == (State.WARN, "create the bucket, or correct ANUBIS_BUCKET")
    with bucket_server.away():
        away = checks(replace(with_bucket, bucket="s3://another-bucket"))["bucket"]
    assert away.state is State.WARN
    assert "ANUBIS_BUCKET_ENDPOINT" in away.remedy
