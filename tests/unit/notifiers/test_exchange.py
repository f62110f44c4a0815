import time
from dataclasses import dataclass
from email.utils import formatdate

import pytest

from anubis.model.errors import BadInputError, NotifyError
from anubis.notifiers import exchange
from anubis.notifiers.exchange import Answer, refusal, send, service_url, shown, token
from anubis.settings import load, setting
from support.listener import Reply, listening

PATH = "T0/" + "hush" * 2


def refused(status, **headers):
    answer = Answer(
        status=status, headers={name.replace("_", "-"): value for name, value in headers.items()}, body=b""
    )
    return refusal("https://x", answer)


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_what_may_pass_is_not_permanent(status):
    assert not refused(status).permanent


def test_a_spent_limit_is_temporary_and_a_forbidden_thing_is_not():
    assert not refused(403, retry_after="60").permanent
    assert not refused(403, x_ratelimit_remaining="0", x_ratelimit_reset="1").permanent
    assert refused(403, x_ratelimit_remaining="12").permanent


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [("0", 0), ("60", 60), ("999999999", exchange.MAX_AGAIN_S), ("soon", None), ("-5", None)],
)
def test_the_time_to_wait_is_that_which_was_asked(asked, seconds):
    assert refused(503, retry_after=asked).again_after_s == seconds


def test_a_date_to_wait_for_becomes_seconds(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0)
    assert refused(429, retry_after=formatdate(1_700_000_030, usegmt=True)).again_after_s == 30
    assert refused(429, retry_after=formatdate(1_600_000_000, usegmt=True)).again_after_s == 0
    assert refused(403, x_ratelimit_remaining="0", x_ratelimit_reset="1700000090").again_after_s == 90


@pytest.mark.parametrize("url", ["https://", "http://[::1", "https://a b/", "https://h:99999/", "nonsense"])
def test_a_malformed_address_is_a_notify_error(url):
    with pytest.raises(NotifyError) as refused_url:
        send("GET", url)
    assert refused_url.value.permanent


def test_the_proxy_of_the_environment_is_used(monkeypatch):
    with listening(lambda _: Reply(200, b"by proxy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert send("GET", "http://hook.invalid/x").body == b"by proxy"
        assert proxy.last.path == "/x"
        with pytest.raises(NotifyError):
            send("GET", "http://127.0.0.1:1/")
        assert len(proxy.requests) == 1


def test_only_scheme_host_and_port_are_shown():
    assert shown("https://user:pw@hooks.example:8443/T0/SECRET?token=x") == "https://hooks.example:8443"
    assert "pw" not in shown("https://user:pw@[bad/x")


@dataclass(frozen=True, kw_only=True)
class Service:
    """Settings of a service with an address and a token."""

    url: str = setting("U", default="", read=service_url)
    token: str = setting("T", default="", read=token, secret=True)


def test_a_token_with_a_line_break_is_refused_without_being_shown():
    assert load(Service, {"T": " abc \n"}).token == "abc"
    with pytest.raises(BadInputError) as refused_token:
        load(Service, {"T": "qx\nqz"})
    (problem,) = refused_token.value.problems
    assert problem.path == "T"
    assert "qx" not in f"{refused_token.value}{problem}"


@pytest.mark.parametrize("value", ["ftp://x", "x", "https://", "https://u:hunter2@h/", "http://[::1"])
def test_a_service_has_an_http_address(value):
    with pytest.raises(BadInputError) as refused_url:
        load(Service, {"U": value})
    (problem,) = refused_url.value.problems
    assert "http or https" in problem.message
    assert "hunter2" not in f"{refused_url.value}{problem}"


def test_an_answer_that_is_not_json_is_said():
    with pytest.raises(NotifyError, match="not JSON"):
        Answer(status=200, headers={}, body=b"<html>").json()
