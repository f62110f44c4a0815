"""The signatures of reports: their senders know the secret of the trigger."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping

from anubis.contracts.service.triggers import TriggerKind

#: A signed report of GitLab is valid for this long after its time, seconds.
VALID_S = 300.0
#: Beginning of a signing token of GitLab; other secrets are sent as they are, in a header.
SIGNING = "whsec_"


def is_valid(
    kind: TriggerKind,
    secret: str,
    *,
    headers: Mapping[str, str],
    token: str,
    body: bytes,
    now_s: float,
) -> bool:
    """Whether the report is signed with the secret. ``token`` is that of the address, for Docker Hub.

    Names of headers are in lower case. Comparisons take the same time wherever the texts differ.
    """
    if kind is TriggerKind.GITHUB:
        expected = f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
        return _same(expected, headers.get("x-hub-signature-256", ""))
    if kind is TriggerKind.GITLAB:
        if secret.startswith(SIGNING):
            return _is_signed(secret, headers, body, now_s)
        return _same(secret, headers.get("x-gitlab-token", ""))
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return _same(secret, given.strip() if scheme.lower() == "bearer" else token)


def _is_signed(secret: str, headers: Mapping[str, str], body: bytes, now_s: float) -> bool:
    """The signature of Standard Webhooks, over the id, the time and the body."""
    number, time_text = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    try:
        key = base64.b64decode(secret.removeprefix(SIGNING), validate=True)
        is_recent = time_text.isdecimal() and abs(int(time_text[:20]) - now_s) <= VALID_S
    except (binascii.Error, ValueError):
        return False
    signed = hmac.new(key, f"{number}.{time_text}.".encode() + body, hashlib.sha256).digest()
    expected = f"v1,{base64.b64encode(signed).decode()}"
    found = [_same(expected, given) for given in headers.get("webhook-signature", "").split()]
    return any(found) and is_recent


def _same(expected: str, given: str) -> bool:
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "surrogateescape"))
