"""People sign in with Dex, a real OpenID provider, and a browser without scripts."""

import os
import shutil
import socket
import subprocess

import pytest

from anubis.model.access.roles import Role
from support.access import Identities, ask
from support.browsing import Browser
from support.command import BIN
from support.dex_server import CLIENT, SECRET, dex
from support.processes import until
from support.service import Service

#: Dex is built once, which takes minutes.
pytestmark = pytest.mark.timeout(1500)


@pytest.fixture
def provider(tmp_path):
    with dex(tmp_path) as made:
        yield made


@pytest.fixture
def started(tmp_path, provider):
    """Start a service of the provider with settings."""
    running = []

    def start(**environ):
        file = tmp_path / "client-secret"
        file.write_text(f"{SECRET}\n")
        with socket.create_server(("127.0.0.1", 0)) as found:
            port = found.getsockname()[1]
        service = Service(
            tmp_path / "home",
            **{
                "ANUBIS_OIDC_ISSUER": provider.issuer,
                "ANUBIS_OIDC_CLIENT_ID": CLIENT,
                "ANUBIS_OIDC_CLIENT_SECRET": str(file),
                "ANUBIS_OIDC_SCOPES": "openid profile email groups",
                **environ,
            },
        )
        service.url = f"http://127.0.0.1:{port}"
        running.append(service)
        identities = Identities(service.home)
        identities.user("ann", "*", "admin")
        service.start()
        provider.start(f"{service.url}/sign-in/return")
        return service, identities

    yield start
    for each in running:
        each.stop()


def signed_in(browser, service, name, path="/sign-in"):
    """The page after a sign-in with the password of a person."""
    page = browser.open(f"{service.url}{path}")
    link = next(each for each in page.links if "/sign-in/provider" in each)
    form = browser.open(f"{service.url}{link}")
    assert "dex" in form.url
    return browser.submit(form, login=f"{name}@example.org", password=f"{name}'s password")


def test_a_person_signs_in_and_has_the_rights_of_the_groups(started):
    service, identities = started(
        ANUBIS_OIDC_CREATE_USERS="on", ANUBIS_OIDC_GROUPS="ml-team=team, others=elsewhere"
    )
    identities.change(lambda access: access.grant("default", "@team", Role.VIEWER))
    browser = Browser()
    after = signed_in(browser, service, "bob", "/sign-in?next=%2Fapi%2Fv1%2Fruns%3Flimit%3D5")
    assert (after.status, after.url) == (200, f"{service.url}/api/v1/runs?limit=5")
    found = browser.open(f"{service.url}/api/v1/whoami")
    assert '"name":"bob"' in found.text
    assert '"default":"viewer"' in found.text
    browser.close()


def test_a_person_without_a_user_is_refused_and_it_is_noted(started):
    service, identities = started()
    browser = Browser()
    page = signed_in(browser, service, "eve")
    assert page.status == 403
    assert "there is no user &#x27;eve&#x27;" in page.text
    assert browser.open(f"{service.url}/api/v1/whoami").status == 401
    refused = identities.change(lambda access: access.decisions(refused=True))
    assert ("eve", "sign in") in {(each.actor, each.action) for each in refused}
    browser.close()


def test_only_members_of_allowed_groups_sign_in(started):
    service, _ = started(ANUBIS_OIDC_CREATE_USERS="on", ANUBIS_OIDC_ALLOWED_GROUPS="ml-team")
    browser, other = Browser(), Browser()
    assert signed_in(browser, service, "eve").status == 403
    assert '"name":"bob"' in _whoami(other, service, "bob")
    browser.close()
    other.close()


def _whoami(browser, service, name):
    signed_in(browser, service, name)
    return browser.open(f"{service.url}/api/v1/whoami").text


def test_the_service_works_with_tokens_while_the_provider_is_away(started, provider):
    service, identities = started()
    token, _ = identities.token("ann")
    provider.stop()
    browser = Browser()
    until(lambda: ask(service.url, "GET", "/api/v1/runs")[0] == 401, "the service asks for tokens")
    page = browser.open(f"{service.url}/sign-in/provider")
    assert page.status == 503
    form = browser.open(f"{service.url}/sign-in")
    browser.submit(form, token=token)
    assert '"name":"ann"' in browser.open(f"{service.url}/api/v1/whoami").text
    browser.close()


@pytest.fixture
def chromium():
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("Chromium is not installed")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def test_a_person_with_chromium_signs_in_logs_in_the_command_line_and_signs_out(started, chromium, tmp_path):
    """A real browser applies the policies of the pages, also to the redirects of their forms."""
    service, _ = started(ANUBIS_OIDC_CREATE_USERS="on")
    environ = {**os.environ, "ANUBIS_HOME": str(tmp_path / "client"), "BROWSER": "true"}
    login = subprocess.Popen(
        [BIN / "anubis", "login", service.url],
        env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    page = chromium.new_page()
    violations = []
    page.on("console", lambda message: violations.append(message.text) if message.type == "error" else None)
    page.goto(login.stderr.readline().strip().rpartition(" ")[2])
    page.get_by_text("Sign in with your company").click()
    page.fill("input[name=login]", "bob@example.org")
    page.fill("input[name=password]", "bob's password")
    page.click("button[type=submit]")
    page.get_by_text("Allow", exact=True).click()
    page.get_by_text("You are logged in").wait_for()
    out, err = login.communicate(timeout=100)
    assert (login.returncode, out) == (0, f"logged in to {service.url} as bob\n"), err
    page.goto(f"{service.url}/sign-in")
    (cookie,) = [each for each in page.context.cookies() if each["name"].startswith("anubis-")]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")
    page.get_by_text("Sign out").click()
    page.get_by_text("You are signed out.").wait_for()
    assert page.context.cookies() == []
    assert [text for text in violations if "Content Security Policy" in text] == []
