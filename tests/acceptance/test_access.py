"""Users of a service, through commands: tokens, projects, revocation, TLS, limits, and the list of decisions."""

import json
import os
import signal
import stat
import subprocess
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest
from starlette.requests import Request

from anubis.model.access.roles import Role
from anubis.model.access.tokens import parts_of
from anubis.model.errors import AnubisError
from anubis.settings import Settings
from anubis.web.access.decision import Access, Allowed, still_valid
from anubis.web.access.limits import FAILED_BURST
from anubis.web.access.login import Login
from anubis.wiring import build
from support.access import Identities, ask, client_with, new_place
from support.command import Command
from support.processes import until
from support.service import Service

RUNS = "/api/v1/runs"


@pytest.fixture
def operator(tmp_path):
    """Commands on the machine of the service."""
    folder = tmp_path / "machine"
    folder.mkdir()
    command = Command(folder / "home", folder)
    yield command
    command.close()


@pytest.fixture
def admin(operator):
    """The token of the first administrator."""
    made = operator("token", "admin", "ann")
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


@pytest.fixture
def service(operator, admin):
    running = Service(operator.home).start()
    yield running
    running.stop()


@pytest.fixture
def identities(operator):
    return Identities(operator.home)


def test_commands_work_with_a_token_and_not_without(anubis, service, admin):
    refused = anubis("register", service.url)
    assert refused.returncode == 2
    assert "--token-file" in refused.stderr
    assert not (anubis.home / "service.json").exists()
    file = anubis.folder / "token"
    file.write_text(f"{admin}\n")
    assert anubis("register", service.url, "--token-file", file).returncode == 0
    kept = anubis.home / "service-token.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert anubis.json("whoami") == {
        "name": "ann",
        "service": service.url,
        "home": str(anubis.home),
        "roles": {"*": "admin"},
    }
    anubis.write("a.toml", "echo score=1")
    assert anubis("run", "a.toml").returncode == 0
    (row,) = anubis.json("history")
    assert row["project"] == "default"
    assert anubis.json("show", row["id"])["owner"] == "ann"
    assert anubis("unregister").returncode == 0
    assert not kept.exists()


def test_a_token_comes_from_standard_input_or_the_environment(anubis, service, admin, monkeypatch):
    read, write = os.pipe()
    os.write(write, admin.encode())
    os.close(write)
    registered = anubis("register", service.url, "--token-file", "-", stdin=read)
    os.close(read)
    assert registered.returncode == 0, registered.stderr
    assert anubis("unregister").returncode == 0
    monkeypatch.setenv("ANUBIS_SERVICE_TOKEN", admin)
    assert anubis("register", service.url).returncode == 0
    assert anubis.json("history") == []
    monkeypatch.setenv("ANUBIS_SERVICE_TOKEN", f"{admin}x")
    assert anubis("history").returncode == 2
    monkeypatch.delenv("ANUBIS_SERVICE_TOKEN")
    assert anubis("register", service.url).returncode == 0, "the registered token is kept"
    assert anubis.json("history") == []


def test_a_file_without_a_token_is_refused(anubis, service):
    file = anubis.folder / "token"
    for content in (b"", b"\xff\xfe", b"secret", b"x" * 100_000):
        file.write_bytes(content)
        ended = anubis("register", service.url, "--token-file", file)
        assert ended.returncode == 2
        assert "does not contain a token" in ended.stderr


def test_a_token_is_sent_to_no_other_origin(anubis, admin):
    """A service that redirects does not make the client send its token elsewhere."""
    seen = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers["Authorization"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_words):
            pass

    other = HTTPServer(("127.0.0.1", 0), Elsewhere)

    class Redirecting(Elsewhere):
        def do_GET(self):
            self.send_response(307)
            self.send_header("Location", f"http://127.0.0.1:{other.server_port}{self.path}")
            self.send_header("Content-Length", "0")
            self.end_headers()

    first = HTTPServer(("127.0.0.1", 0), Redirecting)
    servers = [threading.Thread(target=each.serve_forever, daemon=True) for each in (first, other)]
    for thread in servers:
        thread.start()
    try:
        anubis.home.mkdir(exist_ok=True)
        url = f"http://127.0.0.1:{first.server_port}"
        (anubis.home / "service.json").write_text(json.dumps({"url": url}))
        (anubis.home / "service-token.json").write_text(json.dumps({"url": url, "token": admin}))
        assert anubis("history").returncode != 0
        # Nor is the token of one service sent to another one that the environment names.
        (anubis.home / "service.json").write_text(
            json.dumps({"url": f"http://127.0.0.1:{other.server_port}"})
        )
        assert anubis("history").returncode != 0
    finally:
        for each, thread in zip((first, other), servers, strict=True):
            each.shutdown()
            thread.join()
            each.server_close()
    assert seen == [None]


def test_no_token_is_in_the_database_or_the_log(operator, service, admin):
    assert ask(service.url, "GET", RUNS, token=admin)[0] == 200
    assert ask(service.url, "GET", RUNS, token=f"{admin[:-1]}_")[0] == 401
    service.stop()
    secret = parts_of(admin)[1].encode()
    for file in [*operator.home.rglob("*"), service.log]:
        if file.is_file():
            assert secret not in file.read_bytes(), file
    service.start()


def test_rights_end_with_the_next_request(service, identities):
    identities.project("p")
    identities.user("bob", "p", "submitter")
    text, prefix = identities.token("bob")

    def status():
        return ask(service.url, "GET", RUNS, token=text)[0]

    assert status() == 200
    identities.change(lambda access: access.put_disabled("bob", disabled=True))
    assert status() == 401
    identities.change(lambda access: access.put_disabled("bob", disabled=False))
    assert status() == 200
    identities.change(lambda access: access.end_membership("p", "bob"))
    assert status() == 403
    identities.change(lambda access: access.put_in_group("bob", "team", inside=True))
    identities.change(lambda access: access.grant("p", "@team", Role.VIEWER))
    assert status() == 200
    identities.change(lambda access: access.put_in_group("bob", "team", inside=False))
    assert status() == 403
    identities.change(lambda access: access.grant("p", "bob", Role.VIEWER))
    identities.change(lambda access: access.revoke_token(prefix))
    assert status() == 401


def test_an_administrator_manages_through_the_service(anubis, service, admin):
    file = anubis.folder / "token"
    file.write_text(admin)
    anubis("register", service.url, "--token-file", file)
    assert anubis("project", "create", "vision").returncode == 0
    assert anubis("user", "create", "bob").returncode == 0
    assert anubis.json("user", "join", "bob", "team")["groups"] == ["team"]
    assert anubis("project", "grant", "vision", "@team", "submitter").returncode == 0
    made = anubis.json("token", "create", "bob", "--role", "admin", "--lasts", "2d", "--about", "laptop")
    assert "text" not in anubis.json("token", "show", made["prefix"])
    found = anubis.json("project", "share", "vision", "--weight", "3")
    assert (found["weight"], found["quota"]["running"]) == (3.0, None)
    assert anubis.json("project", "quota", "vision", "--running", "2")["quota"]["running"] == 2
    assert [each["name"] for each in anubis.json("project")] == ["default", "vision"]
    assert anubis.json("project", "show", "vision")["members"][0]["member"] == "@team"
    with client_with(service, made["text"]) as client:
        assert client.access.whoami().roles == {"vision": "submitter"}
        with pytest.raises(AnubisError, match="manage"):
            client.access.users()
    assert anubis.json("token", "revoke", made["prefix"])["revoked_s"]
    for words in (
        ("user", "create", "bob"),
        ("user", "show", "nobody"),
        ("user", "create", "a b"),
        ("project", "grant", "unknown", "bob", "viewer"),
        ("project", "grant", "vision", "nobody", "viewer"),
        ("project", "revoke", "vision", "bob"),
        ("token", "create", "nobody"),
        ("token", "create", "bob", "--lasts", "400d"),
        ("token", "show", "000000000000"),
    ):
        ended = anubis(*words)
        assert ended.returncode in {1, 2}, words
        assert ended.stderr
    listed = {each["action"] for each in anubis.json("audit") if each["actor"] == "ann"}
    assert {"create project", "create user", "grant submitter to @team"} <= listed


def test_a_project_without_a_right_cannot_be_named(anubis, service, identities):
    for name in ("one", "two"):
        identities.project(name)
    identities.user("bob", "one", "submitter")
    identities.change(lambda access: access.grant("two", "bob", Role.VIEWER))
    text, _ = identities.token("bob")
    body = {"descriptors": []}
    for project, expected in (("one", 400), ("two", 403), ("default", 404), ("unknown", 404), ("", 400)):
        found = ask(service.url, "POST", RUNS, body, token=text, Anubis_Project=project)
        assert found[0] == expected, (project, found)


def test_two_projects_do_not_share_a_key(service, identities):
    text = 'spec_version = "1.0"\n[info]\nname = "a"\n[hardware]\ninstance_type = "local"\n[ml]\nbenchmark_code = "true"\n'
    body = {"descriptors": [{"text": text, "folder": "/"}]}
    found = []
    for name in ("one", "two"):
        identities.project(name)
        identities.user(f"user-{name}", name, "submitter")
        token, _ = identities.token(f"user-{name}")
        for _ in range(2):
            status, _, answer = ask(service.url, "POST", RUNS, body, token=token, Idempotency_Key="k")
            assert status in {200, 201}
            found.append(answer["runs"][0]["id"])
    assert found[0] == found[1] != found[2] == found[3]


def test_a_schedule_of_another_project_is_not_replaced(service, identities):
    text = 'spec_version = "1.0"\n[info]\nname = "nightly"\nscheduling = "@yearly"\n[hardware]\ninstance_type = "local"\n[ml]\nbenchmark_code = "true"\n'
    for name in ("one", "two"):
        identities.project(name)
    identities.user("both", "one", "submitter")
    identities.change(lambda access: access.grant("two", "both", Role.SUBMITTER))
    token, _ = identities.token("both")
    body = {"descriptor": {"text": text, "folder": "/"}}
    path = "/api/v1/schedules"
    assert ask(service.url, "PUT", path, body, token=token, Anubis_Project="one")[0] == 200
    assert ask(service.url, "PUT", path, body, token=token, Anubis_Project="two")[0] == 200
    found = ask(service.url, "GET", path, token=token)[2]["schedules"]
    assert [(each["name"], each["project"]) for each in found] == [("nightly", "one"), ("nightly", "two")]


def test_a_stream_ends_when_its_role_is_taken_away(service, identities):
    identities.project("one")
    identities.user("bob", "one", "viewer")
    token, _ = identities.token("bob")
    installation = build(Settings.from_env({"ANUBIS_HOME": str(service.home)}))
    with closing(installation):
        access = Access(Login(installation.store.identities, is_required=True), None)
        request = Request(
            {
                "type": "http",
                "app": SimpleNamespace(state=SimpleNamespace(access=access)),
                "method": "GET",
                "scheme": "http",
                "server": ("127.0.0.1", 80),
                "path": "/api/v1/events",
                "query_string": b"",
                "headers": [(b"authorization", f"Bearer {token}".encode())],
                "path_params": {},
                "route": SimpleNamespace(path="/api/v1/events"),
            }
        )
        principal = access.login.principal(request.headers["Authorization"], "")
        request.state.allowed = Allowed(principal=principal, projects=frozenset({"one"}))
        assert still_valid(request)()
        identities.change(lambda rights: rights.grant("one", "bob", Role.ADMIN))
        assert still_valid(request)(), "a higher role sees the same"
        identities.change(lambda rights: rights.end_membership("one", "bob"))
        assert not still_valid(request)()


def test_many_refused_tokens_of_an_address_are_slowed_down(service, admin):
    place = new_place()
    assert ask(service.url, "GET", RUNS, token=admin, place=place)[0] == 200
    statuses = [ask(service.url, "GET", RUNS, token="wrong", place=place)[0] for _ in range(FAILED_BURST + 5)]
    assert statuses[:FAILED_BURST] == [401] * FAILED_BURST
    assert 429 in statuses
    status, headers, found = ask(service.url, "GET", RUNS, token="wrong", place=place)
    assert (status, found["title"]) == (429, "Too many requests")
    assert 1 <= int(headers["Retry-After"]) <= 5
    assert ask(service.url, "GET", RUNS, token=admin, place=place)[0] == 200, (
        "a known token is not locked out"
    )
    assert ask(service.url, "GET", RUNS, token="wrong")[0] == 401, "another address"


def test_decisions_survive_kill_9(service, identities, admin):
    identities.project("p")
    identities.user("bob", "p", "viewer")
    text, prefix = identities.token("bob")
    assert ask(service.url, "POST", f"{RUNS}/cancellations", {"refs": ["x"]}, token=text)[0] == 403
    assert ask(service.url, "GET", f"{RUNS}/01", token=text)[0] == 404
    service.kill()
    found = identities.change(lambda access: access.decisions(actor="bob", refused=True))
    assert [(each.action, each.target, each.token, each.allowed) for each in found] == [
        ("GET /runs/{ref}", "01", prefix, False),
        ("POST /runs/cancellations", "", prefix, False),
    ]
    assert all(each.address.startswith("127.") for each in found)
    service.start()


def test_allowed_reads_are_counted(service, identities, admin):
    for _ in range(3):
        ask(service.url, "GET", RUNS, token=admin, place="127.0.0.1")
    service.stop()
    found = identities.change(lambda access: access.decisions(actor="ann"))
    (read,) = [each for each in found if each.action == "GET /runs"]
    assert (read.count, read.allowed) == (3, True)
    service.start()


def test_without_users_nothing_changes(anubis, tmp_path):
    running = Service(tmp_path / "open").start()
    try:
        assert ask(running.url, "GET", RUNS)[0] == 200
        assert ask(running.url, "GET", RUNS, token="anything")[0] == 200
        Identities(running.home).user("first")
        until(lambda: ask(running.url, "GET", RUNS)[0] == 401, "the first user closes the service")
    finally:
        running.stop()


def test_other_machines_are_served_only_with_a_login_and_tls(operator, tmp_path):
    place = "0.0.0.0:0"
    without = operator("serve", "--listen", place)
    assert (without.returncode, "--tls-cert" in without.stderr) == (2, True)
    for words in (("--without-tls",), ("--trusted-proxy", "10.0.0.1")):
        ended = operator("serve", "--listen", place, *words)
        assert (ended.returncode, "anubis token admin" in ended.stderr) == (2, True)
    behind = operator("serve", "--listen", "127.0.0.1:0", "--trusted-proxy", "127.0.0.1")
    assert (behind.returncode, "anubis token admin" in behind.stderr) == (2, True)
    made = operator.json("token", "admin", "ann")
    operator("user", "disable", "ann")
    disabled = operator("serve", "--listen", place, "--without-tls")
    assert (disabled.returncode, "anubis token admin" in disabled.stderr) == (2, True)
    operator("user", "enable", "ann")
    operator("token", "revoke", made["prefix"])
    revoked = operator("serve", "--listen", place, "--without-tls")
    assert (revoked.returncode, "anubis token admin" in revoked.stderr) == (2, True)
    assert operator("serve", "--tls-cert", "x").returncode == 2
    wrong = tmp_path / "x.pem"
    wrong.write_text("x")
    operator("token", "admin", "ann")
    ended = operator("serve", "--listen", place, "--tls-cert", wrong, "--tls-key", wrong)
    assert (ended.returncode, "PEM" in ended.stderr) == (2, True)


@pytest.fixture
def certificate(tmp_path):
    """A certificate of 127.0.0.1, and its key."""
    names = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-out", names[0], "-keyout", names[1]],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("needs openssl")
    return names


def test_tls_protects_the_token(anubis, operator, admin, certificate, monkeypatch):
    words = ["serve", "--listen", "127.0.0.1:0", "--tls-cert", certificate[0], "--tls-key", certificate[1]]
    process = operator.start(*words, text=True)
    url = process.stdout.readline().strip()
    assert url.startswith("https://127.0.0.1:")
    monkeypatch.setenv("ANUBIS_SERVICE_TOKEN", admin)
    untrusted = anubis("register", url)
    assert untrusted.returncode != 0
    assert "certificate" in untrusted.stderr.lower()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    assert anubis("register", url).returncode == 0
    assert anubis.json("history") == []
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def test_a_proxy_names_the_address_of_the_client_only_if_it_is_trusted(operator, admin, identities):
    for words, expected in (((), "127.0.0.1"), (("--trusted-proxy", "127.0.0.1"), "203.0.113.7")):
        running = Service(operator.home, *words).start()
        try:
            ask(running.url, "GET", RUNS, token="x", place="127.0.0.1", X_Forwarded_For="203.0.113.7")
        finally:
            running.stop()
        newest = identities.change(lambda access: access.decisions(refused=True, limit=1))[0]
        assert newest.address == expected
