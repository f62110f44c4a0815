"""What projects may use, through commands and through a service: permissions, quotas and secrets."""

import json
from pathlib import Path

import pytest

from anubis.client import Client
from anubis.describe.drafting import DescriptorText
from anubis.model.errors import BadInputError, QuotaError
from anubis.settings import Settings
from support.access import Identities, ask, client_with
from support.command import Command
from support.processes import until
from support.service import Service

PREFIX = "/api/v1"
SECRET = "correct-horse-battery"
METRIC = "[[output.metrics]]\nname = 'score'\nunits = '1'\npattern = 'score=(.*)'\n"


@pytest.fixture
def vision(anubis, monkeypatch):
    """Commands in the home folder of an installation, with a new project as that of new runs."""
    assert anubis("project", "create", "vision").returncode == 0
    monkeypatch.setenv("ANUBIS_PROJECT", "vision")
    return anubis


def permit(anubis, *names):
    done = anubis("project", "permit", "vision", *names)
    assert done.returncode == 0, done.stderr


def stored(anubis, file):
    """Submit a file without starting a process that drives the run."""
    settings = Settings.from_env({"ANUBIS_HOME": str(anubis.home), "ANUBIS_PROJECT": "vision"})
    with Client.embedded(settings) as client:
        client.runs.submit([file])


def descriptor(command, more=""):
    lines = ['spec_version = "1.0"', "[info]", 'name = "bench"', "[hardware]", 'instance_type = "local"']
    return "\n".join([*lines, "[ml]", f"benchmark_code = {json.dumps(command)}", more])


def test_a_new_project_refuses_with_all_problems_what_the_first_one_runs(vision):
    file = vision.write("bench.toml", "echo score=1", more="[env]\nvars = { KEY = 'secret:KEY' }\n" + METRIC)
    refused = vision("submit", file)
    assert refused.returncode == 2
    assert "anubis project permit vision unsandboxed" in refused.stderr
    assert "anubis secret set KEY --project vision" in refused.stderr
    assert vision.json("history") == []
    permit(vision, "unsandboxed")
    set_ = vision("secret", "set", "KEY", stdin=None, input=f"{SECRET}\n")
    assert set_.returncode == 0, set_.stderr
    assert vision("run", file).returncode == 0


def test_a_permission_that_is_withdrawn_ends_the_runs_that_wait(vision):
    permit(vision, "unsandboxed")
    file = vision.write("bench.toml", "echo score=1", more=METRIC)
    stored(vision, file)
    assert vision("project", "forbid", "vision", "unsandboxed").returncode == 0
    watched = vision("watch", "@last")
    assert watched.returncode != 0
    (row,) = vision.json("history")
    assert (row["status"], row["cause"]) == ("failed", "not_permitted")
    assert not list(vision.home.glob("records/*/a1/benchmark/0/exit.json"))
    replayed = vision("replay", "@last")
    assert replayed.returncode == 2
    assert "unsandboxed" in replayed.stderr


def test_schedules_and_sweeps_are_refused_too(vision):
    more = METRIC + "[matrix]\n\"env.vars.N\" = ['1', '2']\n"
    plain = vision.write("bench.toml", "echo score=1", more=METRIC)
    swept = vision.write("sweep.toml", "echo score=1", more=more)
    for words in (
        ("schedule", "add", plain, "--set", "info.scheduling=@yearly"),
        ("sweep", "run", swept),
        ("ab", plain, plain),
    ):
        refused = vision(*words)
        assert refused.returncode == 2, (words, refused.stdout, refused.stderr)
        assert "unsandboxed" in refused.stderr, (words, refused.stderr)


def test_a_secret_is_masked_and_only_the_project_gets_it(vision, monkeypatch):
    permit(vision, "unsandboxed")
    assert vision("secret", "set", "KEY", stdin=None, input=SECRET).returncode == 0
    file = vision.write(
        "bench.toml",
        "sh -c 'echo score=${#KEY}; echo key=$KEY'",
        more=f"[env]\nvars = {{ KEY = 'secret:KEY' }}\n{METRIC}",
    )
    done = vision("run", file)
    assert done.returncode == 0, done.stderr
    logs = vision("logs", "@last").stdout
    assert f"score={len(SECRET)}" in logs
    kept = [path for path in vision.home.rglob("*") if path.is_file()]
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []
    assert vision.json("secret", "list")[0]["name"] == "KEY"
    monkeypatch.setenv("ANUBIS_PROJECT", "default")
    refused = vision("submit", file)
    assert refused.returncode == 2
    assert "there is no secret KEY" in refused.stderr
    monkeypatch.setenv("ANUBIS_PROJECT", "vision")
    stored(vision, file)
    assert vision("secret", "delete", "KEY").returncode == 0
    assert vision("watch", "@last").returncode != 0
    assert vision.json("history")[0]["cause"] == "not_permitted"
    for words in (("secret", "delete", "KEY"), ("secret", "list", "--project", "nobody")):
        assert vision(*words).returncode == 2


@pytest.mark.parametrize("content", [b"short", b"\xff" * 9, b"a" * 70_000, b"nul\0nul\0nul"])
def test_a_value_that_is_no_secret_is_refused(anubis, content):
    done = anubis("secret", "set", "KEY", stdin=None, input=content, text=False)
    assert done.returncode == 2
    assert anubis.json("secret", "list") == []


def test_a_quota_of_the_command_line(vision):
    permit(vision, "unsandboxed")
    file = vision.write("bench.toml", "echo score=1", more=METRIC)
    assert vision("project", "quota", "vision", "--waiting", "1", "--record-bytes", "1").returncode == 0
    stored(vision, file)
    refused = vision("submit", file)
    assert refused.returncode == 2
    assert "1 runs wait" in refused.stderr
    assert vision("watch", "@last").returncode == 0
    refused = vision("submit", file)
    assert "anubis purge" in refused.stderr
    assert vision("purge", "@last", "--yes").returncode == 0
    assert vision("project", "quota", "vision", "--waiting", "none", "--run-time", "60").returncode == 0
    shown = vision.json("project", "quota", "vision")["quota"]
    assert shown == {"running": None, "waiting": None, "per_day": None, "record_bytes": 1, "run_s": 60.0}
    assert "limits.run_timeout_s" in vision("submit", file).stderr
    assert vision("run", file, "--set", "limits.run_timeout_s=60").returncode == 0
    for wrong in ("0", "-1", "many"):
        assert vision("project", "quota", "vision", "--running", wrong).returncode == 2


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service, an administrator of everything, one of the project "vision", and a submitter in it."""
    running = Service(tmp_path_factory.mktemp("rules") / "home").start()
    try:
        identities = Identities(running.home)
        identities.change(lambda access: access.create_project("vision"))
        tokens = {}
        for name, project, role in (
            ("root", "*", "admin"),
            ("ann", "vision", "admin"),
            ("bob", "vision", "submitter"),
        ):
            identities.user(name, project, role)
            tokens[name], _ = identities.token(name)
        until(lambda: ask(running.url, "GET", f"{PREFIX}/runs")[0] == 401, "the service asks for tokens")
        yield running, tokens
    finally:
        running.stop()


def submitted(service, token, text):
    body = {"descriptors": [{"text": text, "folder": "/"}]}
    return ask(service.url, "POST", f"{PREFIX}/runs", body, token=token)


def test_rules_over_http(served):
    service, tokens = served
    text = descriptor("echo score=1", METRIC)
    status, _, found = submitted(service, tokens["bob"], text)
    assert status == 400
    assert "unsandboxed" in found["problems"][0]["remedy"]
    with client_with(service, tokens["root"]) as client:
        assert "unsandboxed" in client.access.change_permits("vision", permit=["unsandboxed"]).permits
        quota = client.access.project("vision").quota
        client.access.put_quota("vision", type(quota)(per_day=1))
        with pytest.raises(BadInputError) as caught:
            client.access.change_permits("vision", permit=["root", "sudo"])
        assert len(caught.value.problems) == 2
    assert submitted(service, tokens["bob"], text)[0] == 201
    status, headers, found = submitted(service, tokens["bob"], text)
    assert status == 429
    assert found["type"].endswith("#quota")
    assert 0 < int(headers["Retry-After"]) <= 86_400
    with client_with(service, tokens["bob"]) as client:
        for change in (
            lambda: client.access.put_quota("vision", quota),
            lambda: client.access.change_permits("vision", permit=["network"]),
            lambda: client.access.put_secret("vision", "KEY", SECRET),
        ):
            with pytest.raises(Exception, match="permission"):
                change()
        with pytest.raises(QuotaError):
            client.runs.submit([text_of(text)])
    with client_with(service, tokens["root"]) as client:
        client.access.put_quota("vision", quota)


def text_of(text):
    return DescriptorText(text=text, folder=Path("/"), name="bench.toml")


def test_secrets_over_http_are_set_by_an_administrator_of_the_project_and_never_shown(served):
    service, tokens = served
    with client_with(service, tokens["root"]) as client:
        client.access.change_permits("vision", permit=["unsandboxed"])
    with client_with(service, tokens["ann"]) as client:
        client.access.put_secret("vision", "KEY", SECRET)
        (found,) = client.access.secrets("vision")
        assert (found.name, found.actor) == ("KEY", "ann")
    text = descriptor("sh -c 'echo score=1; echo $KEY'", f"[env]\nvars = {{ KEY = 'secret:KEY' }}\n{METRIC}")
    status, _, found = submitted(service, tokens["bob"], text)
    assert status == 201, found
    run = found["runs"][0]["id"]
    with client_with(service, tokens["bob"]) as client:
        until(lambda: client.runs.get(run).status.final, "the run is final")
        assert client.runs.get(run).status == "succeeded"
    assert SECRET not in service.log.read_text()
    kept = [path for path in service.home.rglob("*") if path.is_file()]
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []
    for who, method, body, wanted in (
        ("bob", "GET", None, 403),
        ("bob", "DELETE", None, 403),
        ("ann", "PUT", {"value": 1}, 422),
        ("ann", "DELETE", None, 200),
        ("ann", "DELETE", None, 404),
    ):
        path = f"{PREFIX}/projects/vision/secrets" + ("" if method == "GET" else "/KEY")
        status, _, found = ask(service.url, method, path, body, token=tokens[who])
        assert status in {wanted, 400} if wanted == 422 else status == wanted, (who, method, status, found)
        assert SECRET not in str(found)


def test_the_secrets_of_the_installation_need_a_permission(tmp_path):
    running = Service(tmp_path / "home", ANUBIS_SECRET_THEIRS="the value of the installation").start()
    try:
        identities = Identities(running.home)
        identities.change(lambda access: access.create_project("vision"))
        identities.change(lambda access: access.change_permits("vision", permit=["unsandboxed"]))
        identities.user("bob", "vision", "submitter")
        token, _ = identities.token("bob")
        text = descriptor("echo score=1", f"[env]\nvars = {{ KEY = 'secret:THEIRS' }}\n{METRIC}")
        until(lambda: ask(running.url, "GET", f"{PREFIX}/runs")[0] == 401, "the service asks for tokens")
        status, _, found = submitted(running, token, text)
        assert status == 400, found
        assert "may not use those of the installation" in found["problems"][0]["message"]
        inherits = descriptor("echo score=1", f"[env]\ninherit = ['ANUBIS_SECRET_THEIRS']\n{METRIC}")
        assert submitted(running, token, inherits)[0] == 400
        identities.change(lambda access: access.change_permits("vision", permit=["secrets"]))
        assert submitted(running, token, text)[0] == 201
    finally:
        running.stop()


def test_a_second_home_with_the_same_database_needs_the_same_key(anubis, tmp_path, monkeypatch):
    assert anubis("secret", "set", "KEY", stdin=None, input=SECRET).returncode == 0
    other = Command(tmp_path / "other", anubis.folder)
    try:
        monkeypatch.setenv("ANUBIS_DATABASE_URL", f"sqlite:///{anubis.home / 'anubis.db'}")
        refused = other("secret", "set", "MORE", stdin=None, input=SECRET)
        assert refused.returncode == 2
        assert "ANUBIS_SECRETS_KEY" in refused.stderr
        monkeypatch.setenv("ANUBIS_SECRETS_KEY", str(anubis.home / "secrets.key"))
        assert other("secret", "set", "MORE", stdin=None, input=SECRET).returncode == 0
    finally:
        other.close()
