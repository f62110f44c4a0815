"""Deliveries of alerts."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from anubis.api.json_values import Json
from anubis.model.delivery import Delivery, redacted
from anubis.model.plain import from_plain


def delivery_to_json(delivery: Delivery) -> Json:
    """A delivery; its address may hold a secret, so it is redacted."""
    return {**asdict(delivery), "to": redacted(delivery.to)}


def delivery_from_json(plain: Mapping[str, Any]) -> Delivery:
    return from_plain(Delivery, plain)
