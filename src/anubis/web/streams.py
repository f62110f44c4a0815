"""Server-sent events: streams that a client resumes after the last event that it got."""

import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from anubis.api.json_values import finite
from anubis.web.access.decision import VERIFY_EVERY_S, still_valid

MEDIA_TYPE = "text/event-stream"
#: After this time without an event a comment is sent, by which a client knows that the connection works; seconds.
ALIVE_EVERY_S = 5.0
ALIVE = ": alive\n\n"
ALIVE_BYTES = ALIVE.encode()
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


def answer(request: Request, events: AsyncIterator[Any]) -> StreamingResponse:
    """The answer that sends these events while the token of the request is valid."""
    return StreamingResponse(
        _while_valid(events, still_valid(request)), media_type=MEDIA_TYPE, headers=_HEADERS
    )


async def _while_valid(events: AsyncIterator[Any], is_valid: Callable[[], bool]) -> AsyncIterator[Any]:
    verified_s = time.monotonic()
    async for each in events:
        if time.monotonic() - verified_s > VERIFY_EVERY_S:
            if not await run_in_threadpool(is_valid):
                return
            verified_s = time.monotonic()
        yield each
