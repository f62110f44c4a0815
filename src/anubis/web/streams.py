"""Server-sent events: streams that a client resumes after the last event that it got."""

import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse

from anubis.api.json_values import finite

MEDIA_TYPE = "text/event-stream"
#: After this time without an event a comment is sent, by which a client knows that the connection works; seconds.
ALIVE_EVERY_S = 5.0
ALIVE = ": alive\n\n"
#: What a route that also answers with a stream documents.
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {"content": {MEDIA_TYPE: {"schema": {"type": "string", "description": "Server-sent events."}}}}
}
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def is_wanted(request: Request) -> bool:
    """Whether the client asks for a stream."""
    return MEDIA_TYPE in request.headers.get("Accept", "")


def resumed_at(request: Request) -> str | None:
    """The id of the last event that the client got; None at its first request."""
    return request.headers.get("Last-Event-ID") or None


def event(number: int | str, kind: str, data: Any) -> str:
    """One event. JSON has no line ends, so the data are one line."""
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(finite(data), separators=(',', ':'))}\n\n"


def answer(events: AsyncIterator[str]) -> StreamingResponse:
    """The answer that sends these events."""
    return StreamingResponse(events, media_type=MEDIA_TYPE, headers=_HEADERS)
