"""People sign in to a service with a browser and a token, and log in with the command line."""

import json
import os
import re
import stat
import subprocess
from urllib.parse import parse_qs, urlsplit

import pytest

from support.access import Identities, ask, new_place
from support.browsing import Browser
from support.command import BIN
from support.service import Service
from support.tree import PACKAGE

WHO = "/api/v1/whoami"
USERS = "/api/v1/users"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    running = Service(tmp_path_factory.mktemp("sign-in") / "home")
    identities = Identities(running.home)
    identities.user("ann", "*", "admin")
    identities.user("bob", "default", "viewer")
    running.identities = identities
    yield running.start()
    running.stop()


@pytest.fixture
def browser():
    made = Browser(new_place())
    yield made
    made.close()


@pytest.fixture
def ann(service):
    return service.identities.token("ann")[0]


def enter(browser, service, token, next_path="/sign-in"):
    """Sign in with a token; the page after it, which is not followed."""
    page = browser.open(f"{service.url}/sign-in?next={next_path}")
    return browser.submit(page, token=token, follow=False)


def form_token(browser, service):
    (form,) = browser.open(f"{service.url}/sign-in").forms
    return form[2]["form_token"]


def cookie_of(browser):
    ((name, value),) = browser.cookies["127.0.0.1"].items()
    return f"{name}={value}"


def test_a_token_opens_a_sign_in_with_its_rights_that_ends_with_it(service, browser):
    token, prefix = service.identities.token("ann", role="viewer")
    after = enter(browser, service, token, "/api/v1/whoami")
    assert (after.status, after.headers["Location"]) == (303, WHO)
    given = after.headers["Set-Cookie"]
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= {part.strip() for part in given.split(";")}
    port = urlsplit(service.url).port
    assert given.startswith(f"anubis-{port}=")
    found = json.loads(browser.open(f"{service.url}{WHO}").text)
    assert (found["name"], found["roles"]) == ("ann", {"*": "viewer"})
    assert found["token"].startswith("sign-in:")
    assert browser.open(f"{service.url}{USERS}").status == 403
    service.identities.change(lambda access: access.revoke_token(prefix))
    assert browser.open(f"{service.url}{WHO}").status == 401


@pytest.mark.parametrize("token", ["", "garbage", "anubis_000000000000_" + "A" * 43])
def test_a_wrong_token_is_refused_and_noted(service, browser, token):
    page = enter(browser, service, token or " ")
    assert page.status == 401
    assert "not valid" in page.text
    assert browser.cookies.get("127.0.0.1", {}) == {}
    refused = service.identities.change(lambda access: access.decisions(refused=True))
    assert any(each.action == "sign in" for each in refused)


def test_a_disabled_user_is_signed_out(service, browser):
    service.identities.user("eva", "default", "viewer")
    enter(browser, service, service.identities.token("eva")[0])
    assert browser.open(f"{service.url}{WHO}").status == 200
    service.identities.change(lambda access: access.put_disabled("eva", disabled=True))
    assert browser.open(f"{service.url}{WHO}").status == 401


def test_a_request_that_changes_something_needs_the_form_token(service, browser, ann):
    enter(browser, service, ann)
    cookie, right = cookie_of(browser), form_token(browser, service)
    other = Browser(new_place())
    enter(other, service, ann)
    foreign = form_token(other, service)
    other.close()
    body, tried = {"name": "made-by-a-page"}, {}
    for name, value in {"none": None, "empty": "", "wrong": "0" * 64, "foreign": foreign}.items():
        headers = {"Cookie": cookie, **({"Anubis-Form-Token": value} if value is not None else {})}
        tried[name] = ask(service.url, "POST", USERS, body, **headers)[0]
    assert tried == {"none": 403, "empty": 403, "wrong": 403, "foreign": 403}
    evil = {"Cookie": cookie, "Anubis-Form-Token": right, "Origin": "https://evil.example"}
    assert ask(service.url, "POST", USERS, body, **evil)[0] == 403
    good = {"Cookie": cookie, "Anubis-Form-Token": right, "Origin": service.url}
    assert ask(service.url, "POST", USERS, body, **good)[0] == 201
    assert ask(service.url, "POST", USERS, {"name": "made-by-a-token"}, token=ann)[0] == 201


def test_a_request_with_a_token_does_not_use_the_cookie(service, browser, ann):
    enter(browser, service, ann)
    status, _, found = ask(
        service.url, "GET", WHO, token=service.identities.token("bob")[0], Cookie=cookie_of(browser)
    )
    assert (status, found["name"]) == (200, "bob")
    assert ask(service.url, "GET", WHO, token="garbage", Cookie=cookie_of(browser))[0] == 401


def test_signing_out_ends_the_sign_in(service, browser, ann):
    enter(browser, service, ann)
    cookie, page = cookie_of(browser), browser.open(f"{service.url}/sign-in")
    refused = browser.open(f"{service.url}/sign-out", {"form_token": "wrong"}, Origin=service.url)
    assert refused.status == 403
    assert ask(service.url, "GET", WHO, Cookie=cookie)[0] == 200
    assert "signed out" in browser.submit(page).text
    assert browser.cookies["127.0.0.1"] == {}
    assert ask(service.url, "GET", WHO, Cookie=cookie)[0] == 401


def test_a_new_sign_in_ends_the_one_of_the_browser(service, browser, ann):
    page = browser.open(f"{service.url}/sign-in")
    enter(browser, service, ann)
    before = cookie_of(browser)
    browser.submit(page, token=service.identities.token("bob")[0])
    assert ask(service.url, "GET", WHO, Cookie=before)[0] == 401
    assert json.loads(browser.open(f"{service.url}{WHO}").text)["name"] == "bob"


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "/%0d%0aSet-Cookie:x=1\r\n",
        "javascript:alert(1)",
        "evil.example",
        "/\t/evil.example",
        "",
        "/" + "a" * 3000,
    ],
)
def test_no_redirect_leaves_the_service(service, browser, ann, target):
    page = browser.open(f"{service.url}/sign-in")
    after = browser.submit(page, token=ann, next=target, follow=False)
    assert (after.status, after.headers["Location"]) == (303, "/ui")


def test_pages_work_without_scripts_and_may_load_nothing_else(service, browser):
    page = browser.open(f"{service.url}/sign-in")
    rules = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in rules
    assert "frame-ancestors 'none'" in rules
    assert "script" not in page.text
    assert page.headers["Cache-Control"] == "no-store"
    style = browser.open(f"{service.url}/sign-in/style.css")
    assert (style.status, style.headers["Content-Type"]) == (200, "text/css; charset=utf-8")


def test_text_of_others_is_escaped(service, browser):
    page = browser.open(f"{service.url}/sign-in?next=/ui/%22%3E%3Cscript%3E")
    assert "<script>" not in page.text


def test_administrators_list_and_end_sign_ins(service, browser, ann, tmp_path):
    enter(browser, service, ann)
    name = cookie_of(browser).partition("=")[2].partition(".")[0]
    file = tmp_path / "token"
    file.write_text(ann)
    commands = Commands(tmp_path / "home")
    assert commands("register", service.url, "--token-file", file).returncode == 0
    assert name in commands("sign-in", "list").stdout
    listed = {each["id"]: each for each in json.loads(commands("sign-in", "list", "--json").stdout)}
    assert (listed[name]["user"], listed[name]["revoked_s"]) == ("ann", None)
    assert "digest" not in listed[name]
    ended = commands("sign-in", "revoke", name)
    assert ended.stdout.strip() == f"ended the sign-in {name} of ann"
    assert browser.open(f"{service.url}{WHO}").status == 401
    assert commands("sign-in", "revoke", "0" * 12).returncode == 2


class Commands:
    """Commands in a home folder, with a program as the browser."""

    def __init__(self, home, **environ):
        self.home = home
        self.environ = {**os.environ, "ANUBIS_HOME": str(home), "BROWSER": "true", **environ}

    def __call__(self, *words, text=""):
        return subprocess.run(
            [BIN / "anubis", *words],
            env=self.environ, input=text, capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip

    def started(self, *words):
        return subprocess.Popen(
            [BIN / "anubis", *words],
            env=self.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip


def address_in(process):
    """The address that a login prints."""
    return process.stderr.readline().strip().rpartition(" ")[2]


def test_the_command_line_logs_in_with_the_browser_and_out(service, browser, ann, tmp_path):
    commands = Commands(tmp_path / "home")
    with commands.started("login", service.url) as process:
        page = browser.open(address_in(process))
        assert page.url.startswith(f"{service.url}/sign-in?next=")
        asked = browser.submit(page, token=service.identities.token("bob")[0])
        assert "<strong>bob</strong>" in asked.text
        assert "You are logged in" in browser.submit(asked).text
        out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert out == f"logged in to {service.url} as bob\n"
    kept = tmp_path / "home" / "service-token.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    token = json.loads(kept.read_text())["token"]
    assert commands("history").returncode == 0
    assert ask(service.url, "GET", WHO, token=token)[2]["roles"] == {"default": "viewer"}
    assert commands("logout").stdout == f"logged out of {service.url}\n"
    assert json.loads(kept.read_text())["token"] == ""
    assert ask(service.url, "GET", WHO, token=token)[0] == 401
    assert commands("logout").stdout == f"no token for {service.url} is kept\n"


def test_a_code_can_be_copied_from_another_machine(service, browser, ann, tmp_path):
    enter(browser, service, ann)
    commands = Commands(tmp_path / "home")
    with commands.started("login", service.url, "--no-browser", "--json") as process:
        asked = browser.open(address_in(process))
        shown = browser.submit(asked)
        code = shown.text.partition("<code>")[2].partition("</code>")[0]
        out, err = process.communicate(f"{code}\n", timeout=100)
    assert process.returncode == 0, err
    assert json.loads(out) == {"url": service.url, "name": "ann"}


def allowed(browser, service, challenge, port="4000"):
    """Where the browser is sent after the person allowed a command line."""
    page = browser.open(
        f"{service.url}/sign-in/command-line?port={port}&challenge={challenge}&state=some-state"
    )
    return browser.submit(page, follow=False)


def exchange(service, code, verifier):
    body = {"code": code, "verifier": verifier}
    return ask(service.url, "POST", "/sign-in/command-line/token", body)


#: SHA-256 of "verifier" in base64url.
VERIFIER = "verifier"
CHALLENGE = "iMnq5o6zALKXGivsnlom_0F5_WYda32GHkxlV7mq7hQ"


def test_a_code_is_used_once_by_the_command_line_that_asked(service, browser, ann):
    enter(browser, service, ann)
    after = allowed(browser, service, CHALLENGE)
    parts = urlsplit(after.headers["Location"])
    assert (after.status, parts.netloc, parts.path) == (303, "127.0.0.1:4000", "/")
    query = parse_qs(parts.query)
    assert query["state"] == ["some-state"]
    assert exchange(service, query["code"][0], "another")[0] == 403
    assert exchange(service, query["code"][0], VERIFIER)[0] == 400, "a wrong verifier uses the code up"
    code = parse_qs(urlsplit(allowed(browser, service, CHALLENGE).headers["Location"]).query)["code"][0]
    status, headers, found = exchange(service, code, VERIFIER)
    assert (status, headers["Cache-Control"]) == (201, "no-store")
    assert ask(service.url, "GET", WHO, token=found["text"])[2]["name"] == "ann"
    assert exchange(service, code, VERIFIER)[0] == 400


def test_a_code_of_a_sign_in_that_has_ended_is_refused(service, browser, ann):
    enter(browser, service, ann)
    code = parse_qs(urlsplit(allowed(browser, service, CHALLENGE).headers["Location"]).query)["code"][0]
    name = cookie_of(browser).partition("=")[2].partition(".")[0]
    service.identities.change(lambda access: access.revoke_sign_in(name))
    assert exchange(service, code, VERIFIER)[0] == 403


def test_a_token_of_a_login_has_at_most_the_rights_of_the_token_of_the_sign_in(service, browser):
    token, _ = service.identities.token("ann", role="viewer", project="default")
    enter(browser, service, token)
    code = parse_qs(urlsplit(allowed(browser, service, CHALLENGE).headers["Location"]).query)["code"][0]
    made = exchange(service, code, VERIFIER)[2]["text"]
    assert ask(service.url, "GET", WHO, token=made)[2]["roles"] == {"default": "viewer"}


@pytest.mark.parametrize(
    "query",
    [
        "",
        "port=80&challenge=C&state=s",
        "port=65536&challenge=C&state=s",
        "port=1@evil.example&challenge=C&state=s",
        "port=4000&challenge=&state=s",
        "port=4000&challenge=C&state=%0a",
        "port=%D9%A4000&challenge=C&state=s",
    ],
)
def test_an_address_that_is_not_complete_is_refused(service, browser, ann, query):
    enter(browser, service, ann)
    assert browser.open(f"{service.url}/sign-in/command-line?{query}").status == 400


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"code": 1, "verifier": 2}', b"\xff"])
def test_a_body_that_is_not_valid_is_refused(service, body):
    assert ask(service.url, "POST", "/sign-in/command-line/token", body)[0] == 400


def test_decisions_name_sign_ins(service, browser, ann):
    enter(browser, service, ann)
    name = cookie_of(browser).partition("=")[2].partition(".")[0]
    browser.submit(browser.open(f"{service.url}/sign-in"))
    found = service.identities.change(lambda access: access.decisions(actor="ann", limit=1000))
    seen = {(each.action.partition(" with")[0], each.target) for each in found}
    assert {("sign in", "ann"), ("end sign-in", name)} <= seen


def test_roles_that_are_taken_away_are_lost_by_sign_ins(service, browser):
    service.identities.user("max", "default", "viewer")
    enter(browser, service, service.identities.token("max")[0])
    assert browser.open(f"{service.url}/api/v1/runs").status == 200
    service.identities.change(lambda access: access.end_membership("default", "max"))
    assert browser.open(f"{service.url}/api/v1/runs").status == 403


TEXT = """spec_version = "1.0"
[info]
name = "hidden-benchmark"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "echo done"
"""


@pytest.fixture(scope="module")
def run(service):
    """The id of a run in a project that bob does not see."""
    service.identities.project("secret")
    token, _ = service.identities.token("ann")
    body = {"descriptors": [{"text": TEXT, "folder": "/"}]}
    status, _, found = ask(service.url, "POST", "/api/v1/runs", body, token=token, Anubis_Project="secret")
    assert status == 201, found
    return found["runs"][0]["id"]


def test_a_page_leads_to_the_sign_in_and_back(service, browser, run, ann):
    asked = f"{service.url}/ui/runs/{run}?format=html"
    page = browser.open(asked)
    assert page.way == [asked, page.url]
    assert urlsplit(page.url).path == "/sign-in"
    assert "hidden-benchmark" not in page.text
    after = browser.submit(page, token=ann)
    assert (after.status, after.url) == (200, asked)
    assert "hidden-benchmark" in after.text


def test_a_sign_in_that_ended_leads_back_to_the_page(service, browser, ann):
    enter(browser, service, ann)
    name = cookie_of(browser).partition("=")[2].partition(".")[0]
    service.identities.change(lambda access: access.revoke_sign_in(name))
    page = browser.open(f"{service.url}/ui/runs?find=x")
    assert parse_qs(urlsplit(page.url).query) == {"next": ["/ui/runs?find=x"]}
    assert browser.submit(page, token=ann).url == f"{service.url}/ui/runs?find=x"


def test_a_page_of_another_project_tells_nothing(service, browser, run):
    enter(browser, service, service.identities.token("bob")[0])
    page = browser.open(f"{service.url}/ui/runs/{run}")
    unknown = browser.open(f"{service.url}/ui/runs/{'0' * 32}")
    assert (page.status, unknown.status) == (404, 404)
    assert page.text.replace(run, "") == unknown.text.replace("0" * 32, "")
    assert "hidden-benchmark" not in page.text


def test_a_person_without_a_role_gets_a_page_with_403(service, browser, run):
    service.identities.change(lambda access: access.create_user("nobody"))
    enter(browser, service, service.identities.token("nobody")[0])
    page = browser.open(f"{service.url}/ui/runs/{run}")
    assert (page.status, page.headers["Content-Type"]) == (403, "text/html; charset=utf-8")
    assert run not in page.text
    assert "hidden-benchmark" not in page.text


def test_forms_of_pages_have_the_form_token(service, browser, run, ann):
    enter(browser, service, ann)
    page = browser.open(f"{service.url}/ui/runs/{run}")
    posts = [form for form in page.forms if form[0] == "post"]
    assert posts
    assert all(form[2]["form_token"] for form in posts)
    _, action, fields = next(form for form in posts if "/runs/" in form[1])
    refused = browser.open(f"{service.url}{action}", {}, Origin=service.url)
    assert refused.status == 403
    done = browser.open(f"{service.url}{action}", fields, follow=False, Origin=service.url)
    assert done.status == 303, done.text


def test_every_form_of_a_template_has_the_form_token():
    forms = [
        (path.name, form)
        for path in (PACKAGE / "web" / "pages" / "templates").glob("*.html")
        for form in re.findall(r'<form[^>]*method="post".*?</form>', path.read_text(), re.DOTALL)
    ]
    assert forms
    assert [name for name, form in forms if 'name="form_token"' not in form] == []


def test_programs_get_problem_details(service):
    status, headers, found = ask(service.url, "GET", "/ui/runs", Accept="application/json")
    assert (status, headers["Content-Type"]) == (401, "application/problem+json")
    assert found["status"] == 401
