"""Notifier ``alertmanager``: sends alerts to the Prometheus Alertmanager (API version 2).

API: https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from anubis.contracts.world import Surroundings
from anubis.model.alert import Alert
from anubis.model.errors import NotifyError
from anubis.notifiers.exchange import send, service_url, token
from anubis.reporting import alert_text
from anubis.reporting.markup import one_line
from anubis.settings import load, setting

#: End of an open alert, which fires until Anubis ends it. Without an end, Alertmanager resolves an alert after
#: ``resolve_timeout`` (5 minutes), because it expects clients to repeat it.
_OPEN_S = 10 * 365 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertmanagerSettings:
    """Settings of the notifier."""

    #: Address of Alertmanager, with its prefix; URL; none
    url: str = setting("ANUBIS_ALERTMANAGER_URL", default="", read=service_url)
    #: Bearer token, for a proxy in front of it; text; none
    token: str = setting("ANUBIS_ALERTMANAGER_TOKEN", default="", read=token, secret=True)


def build(surroundings: Surroundings) -> "Alertmanager":
    """Build the notifier; its entry point names this function."""
    return Alertmanager(load(AlertmanagerSettings, surroundings.environ))


class Alertmanager:
    """Posts alerts to ``alertmanager:``, or to ``alertmanager:severity=page,team=vision`` with these labels added."""

    def __init__(self, settings: AlertmanagerSettings) -> None:
        self._settings = settings

    def notify(self, to: str, alert: Alert) -> None:
        if not self._settings.url:
            raise NotifyError(
                "cannot deliver to Alertmanager: no address is configured",
                permanent=True,
                remedy="set ANUBIS_ALERTMANAGER_URL",
            )
        bearer = self._settings.token
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        send("POST", f"{self._settings.url}/api/v2/alerts", [posted(to, alert)], headers=headers)


def posted(to: str, alert: Alert) -> dict[str, Any]:
    """The alert in the format of Alertmanager.

    Labels identify an alert there, so they contain only what never changes: kind, state and figures are annotations. To
    route by them, add labels to the address.
    """
    end_s = alert.opened_s + _OPEN_S if alert_text.is_open(alert) else alert.changed_s
    return {
        "labels": {
            **labels(to.partition(":")[2]),
            "alertname": "Anubis",
            "alert": alert.id,
            "benchmark": one_line(alert.benchmark) or "unnamed",
        },
        "annotations": {
            "summary": alert_text.title(alert),
            "description": alert_text.text(alert),
            "kind": str(alert.kind),
            "state": str(alert.state),
            "next_step": alert_text.next_steps(alert)[0].command,
        },
        "startsAt": _rfc3339(alert.opened_s),
        "endsAt": _rfc3339(max(end_s, alert.opened_s)),
    }


def labels(text: str) -> dict[str, str]:
    """Parse ``name=value,name=value`` to labels with valid names. Raises a permanent NotifyError."""
    parsed = {}
    for pair in filter(None, map(str.strip, text.split(","))):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name or not value:
            raise NotifyError(
                f"expected NAME=VALUE in the Alertmanager address, got {one_line(pair, 80)!r}",
                permanent=True,
                remedy="write alertmanager:NAME=VALUE,NAME=VALUE",
            )
        valid = re.sub(r"[^a-zA-Z0-9_]", "_", name)
        parsed[f"_{valid}" if valid[0].isdigit() else valid] = one_line(value)
    return parsed


def _rfc3339(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="milliseconds")
