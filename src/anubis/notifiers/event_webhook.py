"""Posts events as signed JSON according to Standard Webhooks 1.0.0; see ``webhook``."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime

from anubis.api.json_values import Json, finite
from anubis.api.runs import event_to_json
from anubis.contracts.events import Sink
from anubis.contracts.world import Surroundings
from anubis.model.errors import BadInputError, NotifyError
from anubis.model.run import Event
from anubis.notifiers.exchange import send, shown
from anubis.notifiers.webhook import VERSION, Webhook, WebhookSettings, keys_of
from anubis.settings import load

#: Type of the message that ``anubis webhook test`` sends.
TEST = "webhook.test"
GONE = 410


def build(surroundings: Surroundings) -> "EventWebhook":
    """Build the publisher from the settings of the notifier ``webhook``."""
    return EventWebhook(load(WebhookSettings, surroundings.environ))


class EventWebhook:
    """``Publisher`` (see the contract) over HTTP."""

    def __init__(self, settings: WebhookSettings, now_s: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._now_s = now_s

    def check(self, address: str, secret: str) -> None:
        """Raise NotifyError for an address that is not allowed, BadInputError for a secret that is not valid."""
        if not address.startswith(("http://", "https://")):
            raise NotifyError(
                f"{shown(address)} is not an http or https address",
                permanent=True,
                remedy="write https://HOST/PATH",
            )
        self._webhook(secret).refuse(address)

    def publish(self, sink: Sink, event: Event) -> bool:
        """See the contract. The id of the message is that of the sink with the number of the event."""
        data = {"run_id": event.run_id, **event_to_json(event)}
        return self._post(sink, f"{sink.id}-{event.seq}", f"run.{event.kind}", event.time_s, data)

    def test(self, sink: Sink) -> bool:
        """Post a message that is no event; as ``publish``."""
        now_s = self._now_s()
        return self._post(sink, f"{sink.id}-test-{int(now_s * 1000)}", TEST, now_s, {"sink": sink.id})

    def _post(self, sink: Sink, key: str, kind: str, time_s: float, data: Json) -> bool:
        content = {
            "version": VERSION,
            "type": kind,
            "timestamp": datetime.fromtimestamp(time_s, UTC).isoformat(),
            "data": data,
        }
        message = json.dumps(finite(content), separators=(",", ":")).encode()
        webhook = self._webhook(sink.secret)
        webhook.refuse(sink.address)
        headers = webhook.headers(key, message)
        answer = send("POST", sink.address, message, headers=headers, accept=(GONE,), quote=False)
        return answer.status != GONE

    def _webhook(self, secret: str) -> Webhook:
        try:
            keys = keys_of(secret)
        except ValueError as error:
            raise BadInputError(
                f"the secret of the webhook is not {error}", remedy="write such a secret to the file"
            ) from None
        if not keys:
            raise BadInputError("the secret of the webhook is empty", remedy="write a secret to the file")
        return Webhook(WebhookSettings(secrets=keys, hosts=self._settings.hosts), self._now_s)
