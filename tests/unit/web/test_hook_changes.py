"""Reports of GitHub, GitLab and registries: signatures, and what they say."""

import base64
import hashlib
import hmac
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.contracts.service.triggers import ChangeKind, TriggerKind
from anubis.model.errors import BadInputError
from anubis.testing.contracts.triggers import a_trigger
from anubis.web.hooks import signatures
from anubis.web.hooks.changes import read, why_not

SECRET, BODY, NOW_S = "a secret that is not guessed", b'{"a": 1}', 1_700_000_000.0
TOKEN = "whsec_" + base64.b64encode(b"k" * 24).decode()
COMMIT, DIGEST = "c0ffee" * 6 + "c0ff", "sha256:" + "0" * 64
HUB, LAB, OCI = TriggerKind.GITHUB, TriggerKind.GITLAB, TriggerKind.REGISTRY


def is_valid(kind, secret, headers, token, body, now_s):
    return signatures.is_valid(kind, secret, headers=headers, token=token, body=body, now_s=now_s)


def signed(body=BODY, secret=SECRET):
    return {"x-hub-signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


def standard(body=BODY, at_s=NOW_S):
    text = f"m1.{at_s:.0f}.".encode() + body
    signature = base64.b64encode(hmac.new(b"k" * 24, text, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": "m1",
        "webhook-timestamp": f"{at_s:.0f}",
        "webhook-signature": f"v1,AAAA v1,{signature}",
    }


def test_the_documented_example_of_github_is_valid():
    headers = {
        "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    }
    assert is_valid(HUB, "It's a Secret to Everybody", headers, "", b"Hello, World!", NOW_S)


@pytest.mark.parametrize(
    ("kind", "secret", "headers", "token"),
    [
        (HUB, SECRET, signed(), ""),
        (LAB, SECRET, {"x-gitlab-token": SECRET}, ""),
        (LAB, TOKEN, standard(), ""),
        (OCI, SECRET, {"authorization": f"Bearer {SECRET}"}, ""),
        (OCI, SECRET, {}, SECRET),
    ],
)
def test_a_signature_is_valid_for_its_secret_and_body(kind, secret, headers, token):
    assert is_valid(kind, secret, headers, token, BODY, NOW_S)
    other = "whsec_" + base64.b64encode(b"x" * 24).decode() if secret == TOKEN else secret + "x"
    assert not is_valid(kind, other, headers, token, BODY, NOW_S)
    assert not is_valid(kind, secret, {}, "", BODY, NOW_S)
    if kind is HUB or secret == TOKEN:
        assert not is_valid(kind, secret, headers, token, BODY + b" ", NOW_S)


@pytest.mark.parametrize("late_s", [-301, 301])
def test_a_signed_report_of_another_time_is_not_valid(late_s):
    assert not is_valid(LAB, TOKEN, standard(), "", BODY, NOW_S + late_s)


def test_a_signing_token_does_not_accept_a_plain_token():
    assert not is_valid(LAB, TOKEN, {"x-gitlab-token": TOKEN}, "", BODY, NOW_S)
    assert not is_valid(HUB, SECRET, {"x-gitlab-token": SECRET}, SECRET, BODY, NOW_S)


def github(ref="refs/heads/main", event="push", **more):
    plain = {
        "ref": ref,
        "after": COMMIT,
        "head_commit": {"id": COMMIT, "timestamp": "2024-01-01T00:00:00+01:00"},
        "repository": {"full_name": "org/model"},
        **more,
    }
    headers = {"x-github-event": event, "x-github-delivery": "d1"}
    return read(HUB, headers, json.dumps(plain).encode())[0]


def test_a_push_to_github():
    change = github()
    assert (change.delivery, change.kind, change.repository) == ("d1", ChangeKind.PUSH, "org/model")
    assert (change.name, change.commit, change.time_s) == ("main", COMMIT, 1704063600.0)
    assert github("refs/tags/v1.0").kind is ChangeKind.TAG
    assert github("refs/heads/a/b").name == "a/b"


@pytest.mark.parametrize("more", [{"event": "ping"}, {"event": "pull_request"}, {"deleted": True}])
def test_what_starts_nothing_says_why(more):
    change = github(**more)
    assert change.kind is None
    assert why_not(a_trigger(), change) == change.reason != ""


@pytest.mark.parametrize(
    "more", [{"ref": "main"}, {"ref": "refs/heads/" + "x" * 400}, {"head_commit": {"id": "--upload-pack=x"}}]
)
def test_a_report_without_a_commit_is_refused(more):
    with pytest.raises(BadInputError):
        github(**more)


def test_a_push_to_gitlab():
    plain = {
        "object_kind": "tag_push",
        "ref": "refs/tags/v1",
        "checkout_sha": COMMIT,
        "project": {"path_with_namespace": "org/model"},
        "commits": [{"id": COMMIT, "timestamp": "2024-01-01T00:00:00Z"}],
    }
    (change,) = read(LAB, {"x-gitlab-event-uuid": "u1"}, json.dumps(plain).encode())
    assert (change.delivery, change.kind, change.name) == ("u1", ChangeKind.TAG, "v1")
    assert (change.commit, change.time_s) == (COMMIT, 1704067200.0)
    (deleted,) = read(LAB, {}, json.dumps({**plain, "checkout_sha": None}).encode())
    assert deleted.kind is None


def notification(number, **target):
    target = {"repository": "org/model", "tag": "v1", "digest": DIGEST, **target}
    return {"id": number, "action": "push", "target": target, "request": {"host": "registry:5000"}}


def test_notifications_of_a_registry():
    body = json.dumps({"events": [notification("e1"), notification("e2", tag=None)]}).encode()
    first, second = read(OCI, {}, body)
    assert (first.delivery, first.image) == ("e1", f"registry:5000/org/model@{DIGEST}")
    assert (first.kind, first.name, second.kind) == (ChangeKind.IMAGE, "v1", None)


def test_the_report_of_docker_hub_has_a_tag_and_no_digest():
    plain = {"push_data": {"tag": "v1", "pushed_at": 1}, "repository": {"repo_name": "org/model"}}
    (change,) = read(OCI, {}, json.dumps(plain).encode())
    assert (change.image, len(change.delivery)) == ("org/model:v1", 64)


def test_a_trigger_chooses_changes():
    tag = github("refs/tags/v1.0")
    assert why_not(a_trigger(), github()) == ""
    assert "not for tag" in why_not(a_trigger(), tag)
    assert why_not(a_trigger(changes=(ChangeKind.TAG,), patterns=("v*",)), tag) == ""
    assert "matches none" in why_not(a_trigger(patterns=("release/*", "[main]")), github())
    assert "not one of its" in why_not(a_trigger(repositories=("other/*",)), github())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just(COMMIT) | st.just("refs/heads/x"),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["ref", "head_commit", "id", "events", "target", "digest", "tag", "repository", "push_data",
             "object_kind", "project", "commits", "timestamp", "action", "request", "host", "after"]
        ),
        inner,
        max_size=6,
    ),
    max_leaves=20,
)  # fmt: skip


@given(kind=st.sampled_from(TriggerKind), plain=_JSON)
def test_any_json_is_read_or_refused(kind, plain):
    headers = {"x-github-event": "push", "x-github-delivery": "d"}
    try:
        changes = read(kind, headers, json.dumps(plain).encode())
    except BadInputError:
        return
    assert changes
    assert all(change.delivery and str(change) is not None for change in changes)


@pytest.mark.parametrize("body", [b"", b"[", b"[" * 100_000, b"\xff", b"payload=%7B%7D"])
def test_other_bodies_are_refused(body):
    with pytest.raises(BadInputError):
        read(HUB, {}, body)
