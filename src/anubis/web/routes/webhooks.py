"""Webhooks that receive events."""

from fastapi import APIRouter, Response
from pydantic import Field

from anubis.api.operations import sink_to_json
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import Strict
from anubis.web.service import Asking

router = APIRouter(route_class=NounRoute, tags=["webhooks"])


class WebhookBody(Strict):
    """A receiver of events."""

    address: str = Field(description="Where events are posted.")
    secret: str = Field(
        description="Keys of the signature, separated by spaces: `whsec_` and base64, or text of at least 24 bytes."
    )
    kinds: list[str] = Field([], description="Kinds of events; by default all.")
    past: bool = Field(False, description="Deliver also the events that are stored already.")


@router.post("/webhooks", summary="Add a webhook")
def add(body: WebhookBody, client: Asking) -> Response:
    """It receives events from now on. Answers never contain the secret."""
    added = client.webhooks.add(body.address, body.secret, kinds=body.kinds, past=body.past)
    return Answer(sink_to_json(added))


@router.get("/webhooks", summary="List webhooks")
def find(client: Asking) -> Response:
    """All webhooks, in the order in which they were added."""
    return Answer({"webhooks": list(map(sink_to_json, client.webhooks.find()))})


@router.get("/webhooks/{ref}", summary="One webhook")
def get(ref: str, client: Asking) -> Response:
    """A webhook by its id or a unique prefix."""
    return Answer(sink_to_json(client.webhooks.get(ref)))


@router.delete("/webhooks/{ref}", summary="Delete a webhook")
def remove(ref: str, client: Asking) -> Response:
    """The webhook as it was."""
    return Answer(sink_to_json(client.webhooks.remove(ref)))


@router.post("/webhooks/{ref}/resume", summary="Resume a webhook")
def resume(ref: str, client: Asking) -> Response:
    """Deliver to a webhook that is off, or that waits after a failure, from its position on."""
    return Answer(sink_to_json(client.webhooks.resume(ref)))


@router.post("/webhooks/{ref}/test", summary="Test a webhook")
def test(ref: str, client: Asking) -> Response:
    """Send a message of type `webhook.test` now."""
    client.webhooks.test(ref)
    return Answer({"accepted": True})
