"""Sign-ins by a provider that sends what real ones do not: every answer is checked, every step happens once."""

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from support.access import Identities, new_place
from support.browsing import Browser
from support.openid_provider import CLIENT, openid_provider
from support.service import Service

WHO = "/api/v1/whoami"


@pytest.fixture(scope="module")
def remote():
    with openid_provider() as made:
        yield made


@pytest.fixture(scope="module")
def service(tmp_path_factory, remote):
    environ = {
        "ANUBIS_OIDC_ISSUER": remote.issuer,
        "ANUBIS_OIDC_CLIENT_ID": CLIENT,
        "ANUBIS_OIDC_GROUPS": "theirs=ours",
    }
    running = Service(tmp_path_factory.mktemp("provider") / "home", **environ)
    running.identities = Identities(running.home)
    running.identities.user("ann", "*", "admin")
    running.identities.user("bob", "default", "viewer")
    yield running.start()
    running.stop()


@pytest.fixture(autouse=True)
def usual(remote):
    remote.claims, remote.answers, remote.token, remote.metadata = {}, {}, None, {}


@pytest.fixture
def browser():
    made = Browser(new_place())
    yield made
    made.close()


def begun(browser, service, remote, next_path="/api/v1/whoami"):
    """The state of a sign-in that the browser has begun."""
    page = browser.open(f"{service.url}/sign-in/provider?next={next_path}", follow=False)
    assert page.status == 303
    query = parse_qs(urlsplit(page.headers["Location"]).query)
    remote.nonce = query["nonce"][0]
    return query["state"][0]


def returned(browser, service, state, rest="code=c"):
    return browser.open(f"{service.url}/sign-in/return?state={state}&{rest}", follow=False)


def refusals(service):
    return [
        each.reason
        for each in service.identities.change(lambda access: access.decisions(refused=True, limit=10))
    ]


def test_a_person_signs_in(service, remote, browser):
    after = returned(browser, service, begun(browser, service, remote))
    assert (after.status, after.headers["Location"]) == (303, WHO)
    assert json.loads(browser.open(f"{service.url}{WHO}").text)["name"] == "bob"


def test_a_state_is_used_once(service, remote, browser):
    state = begun(browser, service, remote)
    assert returned(browser, service, state).status == 303
    assert returned(browser, service, state).status == 400


@pytest.mark.parametrize("state", ["", "unknown", "x" * 10_000, "%00"])
def test_an_unknown_state_is_refused(service, remote, browser, state):
    begun(browser, service, remote)
    assert returned(browser, service, state).status == 400


def test_another_browser_cannot_end_a_sign_in(service, remote, browser):
    state = begun(browser, service, remote)
    other = Browser(new_place())
    assert returned(other, service, state).status == 403
    begun(other, service, remote)
    other.close()
    assert returned(browser, service, state).status == 400, "the step is gone"
    assert "another browser began the sign-in" in refusals(service)


def test_two_tabs_of_one_browser_can_sign_in(service, remote, browser):
    first, nonce = begun(browser, service, remote), remote.nonce
    begun(browser, service, remote)
    remote.nonce = nonce
    assert returned(browser, service, first).status == 303


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"nonce": "another"}, "nonce"),
        ({"iss": "https://other.example"}, "issuer"),
        ({"exp": 1}, "expired"),
        ({"preferred_username": None}, "no claim"),
        ({"preferred_username": ["bob"]}, "no claim"),
        ({"sub": "another", "preferred_username": "bob"}, "another account"),
        ({"sub": "of nobody", "preferred_username": "zoe"}, "no user"),
        ({"sub": "long", "preferred_username": "x" * 64}, "cannot be the name"),
    ],
)
def test_an_answer_with_other_claims_signs_nobody_in(service, remote, browser, claims, reason):
    returned(browser, service, begun(browser, service, remote))
    browser.submit(browser.open(f"{service.url}/sign-in"))
    state = begun(browser, service, remote)
    remote.claims = claims
    page = returned(browser, service, state)
    assert page.status == 403
    assert not any(
        name.startswith("anubis-") and "browser" not in name for name in browser.cookies["127.0.0.1"]
    )
    assert reason in refusals(service)[0]


def test_an_unsigned_token_signs_nobody_in(service, remote, browser):
    state = begun(browser, service, remote)
    remote.token = remote.unsigned()
    assert returned(browser, service, state).status == 403
    assert "signature" in refusals(service)[0]


def test_an_error_of_the_provider_is_shown_without_its_text(service, remote, browser):
    state = begun(browser, service, remote)
    page = returned(browser, service, state, "error=access_denied&error_description=<script>")
    assert page.status == 403
    assert "script" not in page.text
    assert "access_denied" in refusals(service)[0]


def test_the_answer_of_another_provider_is_refused(service, remote, browser):
    state = begun(browser, service, remote)
    assert returned(browser, service, state, "code=c&iss=https://other.example").status == 403


def test_groups_follow_the_provider(service, remote, browser):
    def groups():
        return service.identities.change(lambda access: access.user("bob").groups)

    for given, expected in ((["theirs", "x"], ("ours",)), (["x"], ()), ("theirs", ()), (None, ())):
        remote.claims = {"groups": given}
        assert returned(browser, service, begun(browser, service, remote)).status == 303
        assert groups() == expected


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "/sign-in", ""])
def test_no_redirect_leaves_the_service(service, remote, browser, target):
    after = returned(browser, service, begun(browser, service, remote, target))
    assert after.headers["Location"] == "/ui"


def test_a_sign_in_survives_kill_9_between_its_steps(service, remote, browser):
    state = begun(browser, service, remote)
    service.kill()
    service.start()
    assert returned(browser, service, state).status == 303
    service.kill()
    service.start()
    assert json.loads(browser.open(f"{service.url}{WHO}").text)["name"] == "bob"


def test_too_many_sign_ins_of_one_address_wait(service, remote, browser):
    found = (browser.open(f"{service.url}/sign-in/provider", follow=False) for _ in range(1000))
    refused = next(page for page in found if page.status == 429)
    assert re.fullmatch(r"\d+", refused.headers["Retry-After"])
