import re
from types import SimpleNamespace

import pytest

from anubis.model.alert import AlertState
from anubis.model.errors import NotifyError
from anubis.notifiers.webhook import Webhook, WebhookSettings
from support.alerts import ALERT, an_alert
from support.listener import Reply, listening
from support.tree import ROOT

SECRET = "a text of enough characters"


SENT_S = 1_700_000_100.9
LOCAL = frozenset({"127.0.0.1"})


def webhook(*secrets, **settings):
    settings = {"hosts": LOCAL, "secrets": tuple(secret.encode() for secret in secrets), **settings}
    return Webhook(WebhookSettings(**settings), now_s=lambda: SENT_S)


def verified(request, key):
    """As the documentation tells a receiver to verify, at the time the message was sent."""
    page = (ROOT / "docs" / "reference" / "notifiers.md").read_text()
    names = {}
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], names)
    names["time"] = SimpleNamespace(time=lambda: SENT_S + 1)
    return names["is_genuine"](request.headers, request.body, key)


def test_the_body_says_everything_in_a_documented_form():
    with listening() as server:
        webhook().notify(f"{server.url}/hook?x=1", ALERT)
    request = server.last
    assert (request.method, request.path, request.query) == ("POST", "/hook", {"x": ["1"]})
    assert request.headers["content-type"] == "application/json"
    said = request.json()
    assert said["version"] == 1
    assert said["type"] == "alert.confirmed"
    assert said["timestamp"] == "2023-11-14T22:14:20+00:00"
    assert said["data"].keys() == {"title", "text", "next_steps", "alert"}
    assert said["data"]["alert"]["rows"][0]["effect"] == -0.0444
    assert said["data"]["alert"]["muted_until_s"] is None
    assert said["data"]["next_steps"][0]["command"] == f"anubis alerts show {ALERT.id}"


def test_the_signature_covers_key_time_and_body():
    with listening() as server:
        webhook(SECRET).notify(server.url, ALERT)
    assert server.last.headers["webhook-timestamp"] == "1700000100"
    assert verified(server.last, SECRET.encode())
    assert not verified(server.last, b"another secret, also long enough")


def test_a_receiver_may_hold_either_secret_while_one_replaces_the_other():
    with listening() as server:
        webhook(SECRET, "the secret that comes next").notify(server.url, ALERT)
    assert verified(server.last, SECRET.encode())
    assert verified(server.last, b"the secret that comes next")


def test_the_key_is_that_of_alert_and_state():
    with listening() as server:
        for alert in (ALERT, ALERT, an_alert(state=AlertState.RESOLVED)):
            webhook().notify(server.url, alert)
    keys = [request.headers["webhook-id"] for request in server.requests]
    assert keys == [f"{ALERT.id}-confirmed", f"{ALERT.id}-confirmed", f"{ALERT.id}-resolved"]


def test_without_a_secret_nothing_is_signed():
    with listening() as server:
        webhook().notify(server.url, ALERT)
    assert "webhook-signature" not in server.last.headers


@pytest.mark.parametrize("status", [301, 400, 401, 404, 410])
def test_a_refusal_is_permanent_and_redirects_are_not_followed(status):
    refusing = listening(lambda _: Reply(status, b"no", {"Location": "/elsewhere"}))
    with refusing as server, pytest.raises(NotifyError) as refused:
        webhook().notify(f"{server.url}/secret-path", ALERT)
    assert refused.value.permanent
    assert "secret-path" not in str(refused.value)
    assert len(server.requests) == 1
