import base64
import logging
import socket
import traceback

import pytest
import urllib3

from anubis.model.errors import NotifyError
from anubis.notifiers import exchange
from anubis.notifiers.exchange import Answer, refusal, send
from support.listener import Reply, listening

PATH = "T0/" + "hush" * 2


def refused(status, **headers):
    answer = Answer(
        status=status, headers={name.replace("_", "-"): value for name, value in headers.items()}, body=b""
    )
    return refusal("https://x", answer)


def test_the_body_goes_out_as_json_and_the_answer_comes_back():
    with listening(lambda _: Reply(201, {"id": 7})) as server:
        answer = send("POST", server.url, {"a": 1})
    assert server.last.json() == {"a": 1}
    assert server.last.headers["user-agent"].startswith("anubis")
    assert (answer.status, answer.json()) == (201, {"id": 7})


def test_an_accepted_status_comes_back_as_an_answer():
    with listening(lambda _: Reply(404)) as server:
        assert send("GET", server.url, accept=(404,)).status == 404


def test_an_answer_that_never_comes_is_temporary(monkeypatch):
    monkeypatch.setattr(exchange, "READ_S", 0.05)
    mute = socket.create_server(("127.0.0.1", 0))
    with mute, pytest.raises(NotifyError, match="could not be reached: timeout") as failed:
        send("GET", f"http://127.0.0.1:{mute.getsockname()[1]}/{PATH}")
    assert not failed.value.permanent
    assert PATH not in "".join(traceback.format_exception(failed.value))


def test_a_certificate_nobody_signed_is_not_believed(monkeypatch, tmp_path):
    with (
        listening() as server,
        pytest.raises(NotifyError, match="certificate or TLS version is not accepted"),
    ):
        send("GET", server.url.replace("http://", "https://"))


def test_paths_and_tokens_reach_no_log_even_at_debug(caplog):
    caplog.set_level(logging.DEBUG)
    with listening(lambda _: Reply(500, b"no")) as server, pytest.raises(NotifyError) as failed:
        send("POST", f"{server.url}/{PATH}", {}, headers={"Authorization": f"Bearer {PATH}"})
    said = caplog.text + "".join(traceback.format_exception(failed.value))
    assert PATH not in said


def test_the_log_of_others_stays_as_it_is(caplog):
    caplog.set_level(logging.DEBUG, logger="urllib3.connectionpool")
    with listening() as server:
        send("GET", f"{server.url}/ours")
        with urllib3.PoolManager() as pool:
            pool.request("GET", f"{server.url}/theirs")
    assert "/theirs" in caplog.text
    assert "/ours" not in caplog.text


def test_nobody_there_is_temporary_and_keeps_the_path_secret():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(NotifyError) as failed:
            send("POST", f"http://127.0.0.1:{free.getsockname()[1]}/{PATH}", {})
    assert not failed.value.permanent
    assert PATH not in "".join(traceback.format_exception(failed.value))


def test_the_proxys_own_password_is_said_to_the_proxy_alone(monkeypatch):
    with listening() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("://", "://me:hush@"))
        send("GET", "http://hook.invalid/x")
    assert proxy.last.headers["proxy-authorization"] == f"Basic {base64.b64encode(b'me:hush').decode()}"


def test_an_answer_larger_than_anybody_needs_is_cut(monkeypatch):
    monkeypatch.setattr(exchange, "MAX_BYTES", 10)
    with listening(lambda _: Reply(200, b"x" * 1_000_000)) as server:
        assert len(send("GET", server.url).body) == 10
        assert len(send("GET", server.url).body) == 10


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"channel_is_archived", "channel_is_archived"),
        (
            {"message": "Resource not accessible by integration", "documentation_url": "https://x/y"},
            "Resource not",
        ),
        ({"error": "insufficient_scope"}, "insufficient_scope"),
        (b"Cannot POST /T0/hushhush", None),
        ({"message": "Route POST:/T0/hushhush not found"}, None),
        (b"<html>hushhush</html>", None),
        ([1], None),
    ],
)
def test_the_words_of_the_other_side_are_quoted_unless_they_may_hold_our_address(body, said):
    with listening(lambda _: Reply(400, body)) as server, pytest.raises(NotifyError) as failed:
        send("POST", f"{server.url}/{PATH}", {})
    assert "hushhush" not in str(failed.value)
    assert said is None or said in str(failed.value)


def test_what_must_not_be_quoted_is_not():
    with listening(lambda _: Reply(400, b"hush")) as server, pytest.raises(NotifyError) as failed:
        send("POST", server.url, {}, quote=False)
    assert "hush" not in str(failed.value)
