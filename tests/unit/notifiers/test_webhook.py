import base64
import hashlib
import hmac
import json

import pytest

from anubis.model.errors import BadInputError, NotifyError
from anubis.notifiers.webhook import Webhook, WebhookSettings, body
from anubis.settings import load
from support.alerts import ALERT, a_row, an_alert

SECRET = "a text of enough characters"


LOCAL = frozenset({"127.0.0.1"})


def webhook(*secrets, **settings):
    settings = {"hosts": LOCAL, "secrets": tuple(secret.encode() for secret in secrets), **settings}
    return Webhook(WebhookSettings(**settings), now_s=lambda: 1_700_000_100.9)


def verified(request, key):
    """The verification of docs/reference/notifiers.md, as a receiver would write it."""
    signed = (
        f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    )
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    signatures = request.headers["webhook-signature"].split()
    return any(hmac.compare_digest(signature, f"v1,{expected}") for signature in signatures)


def test_figures_json_cannot_hold_are_null():
    said = json.loads(body(an_alert(rows=(a_row(effect=float("inf"), interval=(float("nan"), 1.0)),))))
    row = said["data"]["alert"]["rows"][0]
    assert (row["effect"], row["interval"]) == (None, [None, 1.0])


def test_secrets_are_read_as_text_or_as_base64():
    key = bytes(range(32))
    settings = load(
        WebhookSettings, {"ANUBIS_WEBHOOK_SECRET": f"whsec_{base64.b64encode(key).decode()} {'t' * 24}"}
    )
    assert settings.secrets == (key, b"t" * 24)
    assert "tttt" not in repr(settings)


@pytest.mark.parametrize("secret", ["short", "whsec_c2hvcnQ=", "whsec_not base64", "whsec_%%%%"])
def test_a_weak_secret_is_refused_without_being_shown(secret):
    with pytest.raises(BadInputError) as refused:
        load(WebhookSettings, {"ANUBIS_WEBHOOK_SECRET": secret})
    assert secret not in str(refused.value).replace("too short", "")


@pytest.mark.parametrize(
    ("to", "hosts"),
    [
        ("http://hook.example/x", ()),
        ("https://other.example/x", ("hook.example",)),
        ("https://user:hunter2@hook.example/x", ("hook.example",)),
        ("https:///x", ()),
        ("https://[::1/x", ()),
    ],
)
def test_what_the_operator_does_not_allow_is_never_asked(to, hosts):
    with pytest.raises(NotifyError) as refused:
        webhook(hosts=frozenset(hosts)).notify(to, ALERT)
    assert refused.value.permanent
    assert "hunter2" not in str(refused.value)


def test_hosts_are_read_from_the_environment():
    settings = load(WebhookSettings, {"ANUBIS_WEBHOOK_HOSTS": "Hook.example, 127.0.0.1"})
    assert settings.hosts == {"hook.example", "127.0.0.1"}
