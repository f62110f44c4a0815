"""Alerts and their deliveries. Effects are ratios minus one."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from anubis.api.json_values import Json
from anubis.model.alert import Alert
from anubis.model.delivery import Delivery, redacted
from anubis.model.plain import from_plain
from anubis.reporting import alert_text


def alert_to_json(alert: Alert) -> Json:
    """An alert and its title."""
    return {"title": alert_text.title(alert), **asdict(alert)}


def alert_from_json(plain: Mapping[str, Any]) -> Alert:
    return from_plain(Alert, plain)


def delivery_to_json(delivery: Delivery) -> Json:
    """A delivery; its address may hold a secret, so it is redacted."""
    return {**asdict(delivery), "to": redacted(delivery.to)}


def delivery_from_json(plain: Mapping[str, Any]) -> Delivery:
    return from_plain(Delivery, plain)
