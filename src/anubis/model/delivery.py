"""Deliveries: what an address must receive about an alert, and what came of it."""

import re
from dataclasses import dataclass, field
from enum import StrEnum

from anubis.model.alert import AlertState

#: Targets up to this length are shown whole: they are names of channels, too short for a secret.
_SHORT = 8
#: Characters of a longer target that are shown.
_SHOWN = 4
#: Parts of an address that are shorter than this are not searched for in messages.
_SHORTEST_PART = 6


class DeliveryStatus(StrEnum):
    """What came of a delivery."""

    PENDING = "pending"
    DELIVERED = "delivered"
    #: The receiver refused it, and another attempt cannot succeed.
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One state of one alert for one address.

    The receiver gets the alert as it is when it is delivered. A later state of the same alert replaces an earlier
    one that is still pending, so no receiver sees states in the wrong order or one that is out of date.
    """

    alert_id: str
    #: State of the alert that the receiver must learn.
    state: AlertState
    #: Address of the receiver. It may hold a secret: show ``redacted`` instead, which also replaces it when the
    #: delivery has ended.
    to: str = field(repr=False)
    #: Run whose timeline records the outcome; None: the run was removed.
    run_id: str | None
    #: When it was decided; UTC seconds.
    created_s: float
    #: Not attempted before this time; UTC seconds.
    due_s: float
    status: DeliveryStatus = DeliveryStatus.PENDING
    #: Attempts so far.
    attempts: int = 0
    #: Why the last attempt failed, without the address; empty: it did not fail.
    error: str = ""
    #: When it was delivered or refused; UTC seconds.
    ended_s: float | None = None
    #: Position among all deliveries; None until stored.
    no: int | None = None


def redacted(address: str) -> str:
    """The address in a form that may be shown: no credentials, path or query of a URL, and no long token.

    A redacted address stays as it is.
    """
    scheme, colon, target = address.partition(":")
    if target.startswith("//"):
        host = re.split(r"[/?#]", target[2:], maxsplit=1)[0].rpartition("@")[2]
        return f"{scheme}://{host}/…"
    name, at, domain = target.rpartition("@")
    if at and name:
        return f"{scheme}:{name[:1]}…@{domain.partition('?')[0]}"
    return scheme + colon + (target if len(target) <= _SHORT else f"{target[:_SHOWN]}…")


def without_address(text: str, address: str) -> str:
    """The text with the address, and every part of it that may be a secret, replaced."""
    target = address.partition(":")[2]
    parts = {address, target, *re.split(r"[/?#&=@:]+", target)}
    for part in sorted(parts, key=len, reverse=True):
        if len(part) >= _SHORTEST_PART and part not in redacted(address):
            text = text.replace(part, "…")
    return text
