"""Notifier ``slack``: messages through incoming webhooks of Slack, Mattermost or a compatible service.

Incoming webhooks: https://api.slack.com/messaging/webhooks; blocks: https://api.slack.com/reference/block-kit/blocks
"""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anubis.contracts.objects import Objects
from anubis.contracts.world import Surroundings
from anubis.model.alert import Alert
from anubis.model.errors import NotFoundError, NotifyError
from anubis.notifiers.exchange import send, service_url
from anubis.reporting import alert_text
from anubis.reporting.markup import one_line
from anubis.settings import load, setting

#: Limits of Slack: characters of a header, and of the text of a section.
_HEADER, _SECTION = 150, 3000


def _channels(text: str) -> Mapping[str, str]:
    urls = {}
    for entry in text.split():
        channel, _, url = entry.partition("=")
        if not channel or not url:
            raise ValueError("a list of #CHANNEL=https://... with a channel and an address in every entry")
        urls[channel] = service_url(url)
    return urls


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSettings:
    """Settings of the notifier."""

    #: Default incoming webhook, for channels that are not in `ANUBIS_SLACK_URLS`. The message names the channel, which newer webhooks of Slack ignore; URL; none
    url: str = setting("ANUBIS_SLACK_URL", default="", read=service_url, secret=True)
    #: `#perf=https://... #infra=https://...`: a webhook for each channel; URLs; none
    urls: Mapping[str, str] = setting("ANUBIS_SLACK_URLS", default_factory=dict, read=_channels, secret=True)


def build(surroundings: Surroundings) -> "Slack":
    """Build the notifier; its entry point names this function."""
    return Slack(load(SlackSettings, surroundings.environ), surroundings.objects)


class Slack:
    """Posts alerts to ``slack:#channel``.

    An incoming webhook has no idempotency keys, so delivered messages are recorded in the object store.
    """

    def __init__(self, settings: SlackSettings, objects: Objects) -> None:
        self._settings = settings
        self._objects = objects

    def notify(self, to: str, alert: Alert) -> None:
        channel = to.partition(":")[2].strip()
        url = self._settings.urls.get(channel, self._settings.url)
        if not url:
            raise NotifyError(
                f"cannot deliver to Slack: no webhook is configured for channel {one_line(channel, 80) or '(none)'}",
                permanent=True,
                remedy="set ANUBIS_SLACK_URL, or add the channel to ANUBIS_SLACK_URLS",
            )
        key = hashlib.sha256(f"slack\0{channel}\0{alert_text.key(alert)}".encode()).hexdigest()
        if self._is_delivered(key):
            return
        content = message(alert)
        if channel and channel not in self._settings.urls:
            content["channel"] = channel
        send("POST", url, content)
        self._objects.put(key, io.BytesIO(b""))

    def _is_delivered(self, key: str) -> bool:
        try:
            self._objects.open(key).close()
        except NotFoundError:
            return False
        return True


def message(alert: Alert) -> dict[str, Any]:
    """The message as blocks, and as plain text for clients without blocks."""
    shown, more = alert_text.lines(alert)
    rows = "\n".join(line.text() for line in shown)
    rows += f"\nand {more} more" if more else ""
    steps = "\n".join(f"{_mark(step.command)} {step.purpose}" for step in alert_text.next_steps(alert))
    blocks: list[dict[str, Any]] = [
        {
            "type": "header",
            "text": {"type": "plain_text", "text": alert_text.title(alert, _HEADER), "emoji": False},
        }
    ]
    if rows:
        blocks.append(_section(f"```{_escape(rows)[: _SECTION - 6]}```"))
    blocks.append(_section("\n".join(alert_text.sentences(alert, _mark))))
    blocks.append(_section(steps))
    return {"text": _escape(alert_text.title(alert)), "blocks": blocks}


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text[:_SECTION]}}


def _mark(word: str) -> str:
    return f"`{_escape(one_line(word)) or ' '}`"


def _escape(text: str) -> str:
    """Escape the three characters that Slack interprets (``<!channel>`` mentions everyone), and backticks."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("`", "'")
