"""Notifier ``webhook``: sends signed JSON according to Standard Webhooks 1.0.0.

Specification: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import binascii
import dataclasses
import hashlib
import hmac
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from anubis.contracts.world import Surroundings
from anubis.model.alert import Alert
from anubis.model.errors import NotifyError
from anubis.notifiers.exchange import send, shown
from anubis.reporting import alert_text
from anubis.settings import load, setting

#: Version of the body; a field may be added without a new one.
VERSION = 1


def _hosts(text: str) -> frozenset[str]:
    return frozenset(text.replace(",", " ").lower().split())


def keys_of(text: str) -> tuple[bytes, ...]:
    """The secrets in a text, separated by spaces. Raises ValueError, without them."""
    return tuple(_key(secret) for secret in text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """Settings of the notifier."""

    #: Secrets of the signature, separated by spaces (several during a key rotation). `whsec_` and base64, or text of at least 24 bytes; text; unsigned
    secrets: tuple[bytes, ...] = setting("ANUBIS_WEBHOOK_SECRET", default=(), read=keys_of, secret=True)
    #: Allowed hosts, separated by commas, with https or http. Set it if untrusted users may submit descriptors; names; any host, https only
    hosts: frozenset[str] = setting("ANUBIS_WEBHOOK_HOSTS", default=frozenset(), read=_hosts)


def build(surroundings: Surroundings) -> "Webhook":
    """Build the notifier; its entry point names this function."""
    return Webhook(load(WebhookSettings, surroundings.environ))


class Webhook:
    """Posts alerts to ``https://...``."""

    def __init__(self, settings: WebhookSettings, now_s: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._now_s = now_s

    def notify(self, to: str, alert: Alert) -> None:
        self.refuse(to)
        message = body(alert)
        send("POST", to, message, headers=self.headers(alert_text.key(alert), message), quote=False)

    def headers(self, key: str, message: bytes) -> dict[str, str]:
        """The headers of a message: its key, the time, and a signature for each secret."""
        moment = str(int(self._now_s()))
        headers = {"Content-Type": "application/json", "webhook-id": key, "webhook-timestamp": moment}
        if self._settings.secrets:
            signed = b".".join([key.encode(), moment.encode(), message])
            headers["webhook-signature"] = " ".join(_signature(key, signed) for key in self._settings.secrets)
        return headers

    def refuse(self, to: str) -> None:
        """Raise a permanent NotifyError for an address that the operator does not allow."""
        try:
            parts = urlsplit(to)
            host, user = (parts.hostname or "").lower(), parts.username
        except ValueError:
            host, user = "", None
        if not host or user:
            raise NotifyError(
                f"{shown(to)} is not a valid webhook address",
                permanent=True,
                remedy="write https://HOST/PATH, without a user or a password",
            )
        if host in self._settings.hosts or (parts.scheme == "https" and not self._settings.hosts):
            return
        raise NotifyError(
            f"webhook address {shown(to)} is not allowed",
            permanent=True,
            remedy="use https, or ask the operator to add the host to ANUBIS_WEBHOOK_HOSTS",
        )


def body(alert: Alert) -> bytes:
    """The message as JSON: ``type``, ``timestamp`` and ``data`` as in Standard Webhooks."""
    content = {
        "version": VERSION,
        "type": f"alert.{alert.state}",
        "timestamp": datetime.fromtimestamp(alert.changed_s, UTC).isoformat(),
        "data": {
            "title": alert_text.title(alert),
            "text": alert_text.text(alert),
            "next_steps": [dataclasses.asdict(step) for step in alert_text.next_steps(alert)],
            "alert": _finite(dataclasses.asdict(alert)),
        },
    }
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


def _signature(key: bytes, signed: bytes) -> str:
    return f"v1,{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}"


def _key(secret: str) -> bytes:
    """The bytes of a secret: base64 after ``whsec_``, or the text itself."""
    encoded = secret.removeprefix("whsec_")
    try:
        key = secret.encode() if encoded == secret else base64.b64decode(encoded, validate=True)
    except binascii.Error:
        key = b""
    if len(key) < 24:  # the minimum of Standard Webhooks
        raise ValueError(
            "a list of secrets of at least 24 bytes each, text or `whsec_` and base64; "
            'make one: python -c "import secrets; print(secrets.token_urlsafe(32))"'
        )
    return key


def _finite(plain: Any) -> Any:
    """Plain values, with null for numbers that JSON cannot represent."""
    if isinstance(plain, dict):
        return {key: _finite(item) for key, item in plain.items()}
    if isinstance(plain, list | tuple):
        return [_finite(item) for item in plain]
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
