"""Signed reports to a service, and the runs that they submit."""

import hashlib
import hmac
import json
import urllib.error
import urllib.request
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from support.access import Identities, ask
from support.processes import until
from support.service import Service

SECRET = "0123456789abcdef-secret"
COMMIT = "c0ffee" * 6 + "c0ff"
DESCRIPTOR = """spec_version = "1.0"
[info]
name = "train"
[hardware]
instance_type = "local"
[subject]
commit = "auto"
[ml]
benchmark_code = "echo score=1"
"""


@pytest.fixture
def service(anubis, tmp_path, monkeypatch):
    monkeypatch.setenv("ANUBIS_SECRET_hook", SECRET)
    running = Service(tmp_path / "served", "--role", "api").start()
    (anubis.folder / "train.toml").write_text(DESCRIPTOR)
    assert anubis("register", running.url).returncode == 0
    yield running
    running.stop()


def report(ref="refs/heads/main", **more):
    return {
        "ref": ref,
        "after": COMMIT,
        "head_commit": {"id": COMMIT, "timestamp": "2024-01-01T00:00:00Z"},
        "repository": {"full_name": "org/model"},
        **more,
    }


def send(service, plain, *, secret=SECRET, name="main", delivery="d1", **headers):
    """Status and JSON of the answer."""
    body = plain if isinstance(plain, bytes) else json.dumps(plain).encode()
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    names = {
        "X-Hub-Signature-256": f"sha256={signature}",
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": delivery,
        "Host": "bench.example.org",
        **headers,
    }
    request = urllib.request.Request(f"{service.url}/api/v1/hooks/{name}", body, names)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def create(anubis, *words):
    created = anubis(
        "trigger", "create", "main", "train.toml", "--from", "github", "--secret", "hook", *words
    )
    assert created.returncode == 0, created.stderr
    assert created.stdout == "main\n"


def reports(anubis):
    return anubis.json("trigger", "show", "main")["deliveries"]


def test_a_push_submits_the_descriptors_with_its_commit(anubis, service):
    create(anubis, "--ref", "main")
    status, answer = send(service, report())
    assert status == 202, answer
    (run_id,) = answer["runs"]
    run = anubis.json("show", run_id)
    assert (run["subject"], run["name"]) == (COMMIT, "train")
    (delivery,) = reports(anubis)
    assert (delivery["state"], delivery["run_ids"], delivery["id"]) == ("started", [run_id], "d1")
    assert delivery["change"] == f"push org/model main {COMMIT[:12]}"


def test_a_repeated_delivery_submits_nothing_also_after_a_kill(anubis, service):
    create(anubis)
    first = send(service, report())
    service.kill()
    service.start()
    assert send(service, report()) == first
    assert len(anubis.json("history")) == 1
    assert len(reports(anubis)) == 1
    assert send(service, report(), delivery="d2")[0] == 202
    assert len(anubis.json("history")) == 2


def test_a_wrong_signature_is_answered_with_401_and_nothing_else(anubis, service):
    create(anubis)
    answers = [
        send(service, report(), secret="another secret of the same kind"),
        send(service, report(), **{"X-Hub-Signature-256": "sha1=0"}),
        send(service, report(), **{"X-Hub-Signature-256": ""}),
        send(service, b"not json", secret="wrong secret, wrong secret"),
        send(service, report(), name="unknown"),
    ]
    assert {status for status, _ in answers} == {401}
    assert {json.dumps(answer) for _, answer in answers} == {json.dumps(answers[0][1])}
    assert anubis.json("history") == reports(anubis) == []


def test_what_does_not_match_is_noted_and_starts_nothing(anubis, service):
    create(anubis, "--ref", "release/*", "--on", "push", "--on", "tag")
    assert send(service, report())[0] == 202
    assert send(service, report("refs/tags/v1"), delivery="d2")[0] == 202
    assert send(service, report("refs/heads/release/1"), delivery="d3")[0] == 202
    assert send(service, {"zen": "x"}, delivery="d4", **{"X-GitHub-Event": "ping"})[0] == 202
    states = {each["id"]: each["state"] for each in reports(anubis)}
    assert states == {"d1": "skipped", "d2": "skipped", "d3": "started", "d4": "skipped"}
    assert "matches none of its patterns" in anubis("trigger", "show", "main").stdout
    assert len(anubis.json("history")) == 1


def test_a_signed_report_that_cannot_be_read_or_is_too_large_is_refused(anubis, service):
    create(anubis)
    assert send(service, b"[" * 100_000)[0] == 400
    address = urlsplit(service.url)
    connection = HTTPConnection(address.hostname, address.port, timeout=60)
    connection.request("POST", "/api/v1/hooks/main", headers={"Content-Length": str(9 << 20)})
    assert connection.getresponse().status == 413
    connection.close()
    assert reports(anubis) == []


def test_a_failure_is_noted_and_the_repetition_succeeds(anubis, service, monkeypatch):
    service.stop()
    monkeypatch.setenv("ANUBIS_SECRET_token", "a token for the benchmark")
    service.start()
    create(anubis, "--set", "env.vars.TOKEN=secret:token")
    service.stop()
    monkeypatch.delenv("ANUBIS_SECRET_token")
    service.start()
    assert send(service, report())[0] == 422
    (failed,) = reports(anubis)
    assert (failed["state"], "there is no secret token" in failed["reason"]) == ("failed", True)
    service.stop()
    monkeypatch.setenv("ANUBIS_SECRET_token", "a token for the benchmark")
    service.start()
    assert send(service, report())[0] == 202
    assert [each["state"] for each in reports(anubis)] == ["started"]
    assert len(anubis.json("history")) == 1


def test_the_secret_is_not_shown_and_must_exist(anubis, service):
    create(anubis)
    for words in (("trigger", "show", "main"), ("trigger", "show", "main", "--json"), ("trigger", "list")):
        assert SECRET not in anubis(*words).stdout
    assert SECRET.encode() not in service.log.read_bytes()
    again = anubis("trigger", "create", "other", "train.toml", "--from", "github", "--secret", "none")
    assert (again.returncode, "there is no secret none" in again.stderr) == (2, True)
    taken = anubis("trigger", "create", "main", "train.toml", "--from", "github", "--secret", "hook")
    assert taken.returncode != 0
    wrong = anubis(
        "trigger", "create", "b", "train.toml", "--from", "registry", "--secret", "hook", "--on", "push"
    )
    assert wrong.returncode == 2
    assert anubis("trigger", "delete", "main").returncode == 0
    assert send(service, report())[0] == 401
    assert anubis("trigger", "--json").stdout == "[]\n"


def test_an_image_of_a_registry_is_filled_in(anubis, service):
    text = DESCRIPTOR.replace('[subject]\ncommit = "auto"\n', "")
    (anubis.folder / "image.toml").write_text(text)
    created = anubis("trigger", "create", "image", "image.toml", "--from", "registry", "--secret", "hook")
    assert created.returncode == 0, created.stderr
    digest = f"sha256:{'ab' * 32}"
    event = {
        "id": "e1",
        "action": "push",
        "target": {"repository": "org/model", "tag": "v1", "digest": digest},
        "request": {"host": "registry:5000"},
    }
    status, answer = send(service, {"events": [event]}, name="image", Authorization=f"Bearer {SECRET}")
    assert status == 202, answer
    (run_id,) = answer["runs"]
    plain = anubis.json("descriptor", run_id)["descriptor"]
    assert plain["env"]["docker_image"] == f"registry:5000/org/model@{digest}"


def test_a_trigger_belongs_to_a_project_and_is_signed_with_a_secret_of_it(anubis, service, monkeypatch):
    identities = Identities(service.home)
    for project in ("vision", "audio"):
        identities.change(lambda access, name=project: access.create_project(name))
        identities.change(lambda access, name=project: access.change_permits(name, permit=["unsandboxed"]))
        identities.user(f"ann-{project}", project, "admin")
    tokens = {name: identities.token(f"ann-{name}")[0] for name in ("vision", "audio")}
    until(lambda: ask(service.url, "GET", "/api/v1/runs")[0] == 401, "the service asks for tokens")
    monkeypatch.setenv("ANUBIS_SERVICE_TOKEN", tokens["vision"])
    words = ("trigger", "create", "main", "train.toml", "--from", "github", "--secret", "hook")
    refused = anubis(*words)
    assert refused.returncode == 2
    assert "anubis secret set hook --project vision" in refused.stderr
    own = "another secret of the project"
    assert anubis("secret", "set", "hook", "--project", "vision", stdin=None, input=own).returncode == 0
    created = anubis(*words)
    assert created.stdout == "vision:main\n", created.stderr
    assert send(service, report(), name="vision:main")[0] == 401
    assert send(service, report(), name="main", secret=own)[0] == 401
    status, found = send(service, report(), name="vision:main", secret=own)
    assert (status, len(found["runs"])) == (202, 1)
    (row,) = anubis.json("history")
    assert (row["id"], row["project"]) == (found["runs"][0], "vision")
    assert [each["name"] for each in anubis.json("trigger", "list")] == ["main"]
    assert anubis.json("trigger", "show", "main")["deliveries"][0]["state"] == "started"
    identities.change(lambda access: access.change_permits("vision", forbid=["unsandboxed"]))
    status, found = send(service, report(), name="vision:main", secret=own, delivery="d2")
    assert (status, found["runs"]) == (422, [])
    assert "does not permit" in found["deliveries"][0]["reason"]
    monkeypatch.setenv("ANUBIS_SERVICE_TOKEN", tokens["audio"])
    assert anubis.json("trigger", "list") == []
    for word in ("show", "delete"):
        for name in ("main", "vision:main"):
            assert anubis("trigger", word, name).returncode == 2
    monkeypatch.setenv("ANUBIS_SERVICE_TOKEN", tokens["vision"])
    assert anubis("trigger", "delete", "main").returncode == 0
    assert send(service, report(), name="vision:main", secret=own)[0] == 401
