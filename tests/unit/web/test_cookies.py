import asyncio

import pytest
from fastapi import Request, Response

from anubis.model.errors import ForbiddenError, StoreError, TooManyRequestsError
from anubis.web.access import cookies, pages
from anubis.web.answers import is_page
from anubis.web.sign_in.flow import START, local_path
from anubis.web.sign_in.refusal import SignInError
from anubis.web.sign_in.routes import Pages


def request(url="https://bench.example.org/ui", **headers):
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    names = {"host": host, **headers}
    return Request(
        {
            "type": "http",
            "method": "GET",
            "scheme": scheme,
            "server": (host.partition(":")[0], int(host.partition(":")[2] or 80)),
            "path": f"/{path}",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in names.items()],
        }
    )


def put(url):
    response = Response()
    cookies.put(request(url), response, cookies.SIGN_IN, "value", lasts_s=60)
    name, _, rest = response.headers["set-cookie"].partition("=")
    return name, {part.strip().lower() for part in rest.split(";")}


def test_with_tls_a_cookie_belongs_to_the_host():
    name, parts = put("https://bench.example.org:8443/")
    assert name == "__Host-anubis"
    assert {"secure", "httponly", "path=/", "samesite=lax", "max-age=60"} <= parts
    assert not any(part.startswith("domain") for part in parts)


def test_without_tls_two_services_of_a_machine_have_different_cookies():
    (first, parts), (second, _) = put("http://127.0.0.1:8080/"), put("http://127.0.0.1:8081/")
    assert (first, second) == ("anubis-8080", "anubis-8081")
    assert "httponly" in parts
    assert "secure" not in parts


def test_a_cookie_is_found_by_the_name_that_was_set():
    for url, name in (("https://h/", "__Host-anubis"), ("http://127.0.0.1:8080/", "anubis-8080")):
        assert cookies.found(request(url, cookie=f"x=1; {name}=value"), cookies.SIGN_IN) == "value"
        assert cookies.found(request(url, cookie="anubis=value"), cookies.SIGN_IN) == ""


@pytest.mark.parametrize(
    "path", ["/ui", "/ui/runs?x=1&y=%2F", "/api/v1/whoami", "/sign-in/command-line?port=1"]
)
def test_a_local_path_stays(path):
    assert local_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "", "ui", "//h", "/\\h", "https://h", "/ui\n", "/\u00fc", "/sign-in", "/sign-in?next=/", "/sign-in/return?code=1",
        "/sign-in/provider", "\t/ui",
    ],
)  # fmt: skip
def test_other_addresses_are_replaced(path):
    assert local_path(path) == START


@pytest.mark.parametrize(
    ("path", "accept", "expected"),
    [
        ("ui", "text/html,*/*", True),
        ("ui/runs", "text/html", True),
        ("ui/runs", "application/json", False),
        ("uix", "text/html", False),
        ("api/v1/runs", "text/html", False),
    ],
)
def test_errors_are_pages_only_for_browsers_on_pages(path, accept, expected):
    assert is_page(request(f"https://h/{path}", accept=accept)) is expected


@pytest.mark.parametrize("status", [403, 404, 429, 500])
def test_the_page_of_an_error_tells_nothing(status):
    page = pages.of_error(status, {"title": "The title", "detail": "the run secret-1", "remedy": "secret-2"})
    assert page.status_code == status
    assert b"secret" not in page.body
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize(
    ("error", "status", "shown"),
    [
        (StoreError("the disk of secret-1 is full"), 503, b"cannot do this now"),
        (SignInError(403, "You cannot sign in.", why="secret-1"), 403, b"You cannot sign in."),
        (TooManyRequestsError("secret-1", again_after_s=1.5), 429, b"Wait a moment"),
        (ForbiddenError("secret-1", remedy="load the page again"), 403, b"load the page again"),
    ],
)
def test_an_error_of_a_sign_in_is_a_page_without_details(error, status, shown):
    class Failing:
        def is_needed(self):
            raise error

    (route,) = (
        each for each in Pages(Failing()).routes() if each.path == "/sign-in" and "GET" in each.methods
    )
    page = asyncio.run(route.endpoint(request("https://h/sign-in")))
    assert page.status_code == status
    assert shown in page.body
    assert b"secret" not in page.body
    assert page.media_type == "text/html"
