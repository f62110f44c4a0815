"""Pages of a service with users: they show what the person may see, and their forms need the sign-in of the person."""

import pytest

from support.access import Identities, ask, client_with, new_place
from support.browsing import Browser
from support.processes import until
from support.service import Service

TEXT = """spec_version = "1.0"
[info]
name = "secret-benchmark"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "echo secret-output"
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service with a final run in the project "one"."""
    running = Service(tmp_path_factory.mktemp("ui-users") / "home")
    identities = running.identities = Identities(running.home)
    for project in ("one", "two"):
        identities.project(project)
    identities.user("ann", "one", "submitter")
    identities.user("vic", "one", "viewer")
    identities.user("bob", "two", "admin")
    running.start()
    token, _ = identities.token("ann")
    body = {"descriptors": [{"text": TEXT, "folder": "/"}]}
    status, _, found = ask(running.url, "POST", "/api/v1/runs", body, token=token)
    assert status == 201, found
    running.run = found["runs"][0]["id"]
    with client_with(running, token) as client:
        until(lambda: client.runs.get(running.run).status.final, "the run is final")
    yield running
    running.stop()


@pytest.fixture
def signed_in(service):
    opened = []

    def make(name):
        browser = Browser(new_place())
        opened.append(browser)
        page = browser.open(f"{service.url}/sign-in?next=/ui")
        browser.submit(page, token=service.identities.token(name)[0])
        return browser

    yield make
    for browser in opened:
        browser.close()


def posted(browser, service, action, **fields):
    headers = {"Origin": service.url}
    return browser.open(f"{service.url}/ui{action}", fields, follow=False, **headers)


def form_token(page):
    return next(fields["form_token"] for _, _, fields in page.forms if "form_token" in fields)


def test_without_a_sign_in_every_page_leads_to_it_and_back(service):
    browser = Browser(new_place())
    for path in ("", "/runs", f"/runs/{service.run}", "/settings", "/search?pattern=x"):
        page = browser.open(f"{service.url}/ui{path}", follow=False)
        assert page.status == 303
        assert page.headers["Location"].startswith("/sign-in?next=%2Fui")
        assert "secret" not in page.text
    page = browser.open(f"{service.url}/ui/runs/{service.run}")
    after = browser.submit(page, token=service.identities.token("vic")[0])
    assert after.url == f"{service.url}/ui/runs/{service.run}"
    assert "secret-benchmark" in after.text
    browser.close()


def test_runs_of_other_projects_do_not_exist(service, signed_in):
    browser = signed_in("bob")
    for path in ("", "/output", "/output/stream?place=1:", "?tab=descriptor", "?tab=machine", "?format=json"):
        page = browser.open(f"{service.url}/ui/runs/{service.run}{path}")
        unknown = browser.open(f"{service.url}/ui/runs/{service.run[:-4]}0000{path}")
        assert (page.status, unknown.status) == (404, 404)
        assert page.text.replace(service.run, "") == unknown.text.replace(f"{service.run[:-4]}0000", "")
    for path in (
        "",
        "/runs",
        "/benchmarks",
        "/events",
        f"/compare?a={service.run}&b={service.run}",
        "/alerts",
    ):
        assert "secret" not in browser.open(f"{service.url}/ui{path}").text
    assert browser.open(f"{service.url}/ui/search?pattern=secret").status == 403


def test_a_viewer_sees_no_button_and_may_not_send_its_form(service, signed_in):
    browser = signed_in("vic")
    page = browser.open(f"{service.url}/ui/runs/{service.run}")
    assert [action for _, action, _ in page.forms if "replay" in action] == []
    fields = {"key": "k", "form_token": form_token(page)}
    assert posted(browser, service, f"/runs/{service.run}/replay", **fields).status == 403


def test_a_form_needs_the_token_of_its_own_sign_in(service, signed_in):
    browser, other = signed_in("ann"), signed_in("ann")
    page = browser.open(f"{service.url}/ui/runs/{service.run}")
    foreign = form_token(other.open(f"{service.url}/ui"))
    action = f"/runs/{service.run}/replay"
    for fields in ({"key": "k"}, {"key": "k", "form_token": ""}, {"key": "k", "form_token": foreign}):
        assert posted(browser, service, action, **fields).status == 403
    number = next(at for at, (_, action, _) in enumerate(page.forms) if "replay" in action)
    after = browser.submit(page, number)
    assert after.status == 200
    assert "secret-benchmark" in after.text


def test_settings_name_the_person_and_the_roles(service, signed_in):
    page = signed_in("ann").open(f"{service.url}/ui/settings")
    assert "Signed in as ann" in page.text
    assert "submitter in one" in page.text
    assert "bob" not in page.text
