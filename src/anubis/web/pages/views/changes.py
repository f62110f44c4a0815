"""A stream that says when something has changed, so that a page loads its live parts again."""

from collections.abc import AsyncIterator

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from anubis.model.errors import AnubisError
from anubis.web import streams
from anubis.web.answers import Answer
from anubis.web.changes import Changes
from anubis.web.pages import visit as visits
from anubis.web.service import Asked, service_of
from anubis.wiring import Installation

router = visits.router()

#: Events that are read at once to learn whether there are any that the person sees.
_MOST = 1000


@router.get("/changes")
def changes(request: Request, installation: Asked) -> Response:
    """``changed`` after new events of runs that the person sees; without a stream, the number of the newest event."""
    if not streams.is_wanted(request):
        return Answer({"after": installation.world.events.last()})
    return streams.answer(request, _followed(installation, service_of(request).changes))


async def _followed(installation: Installation, changes: Changes) -> AsyncIterator[str]:
    yield streams.ALIVE
    try:
        after = await run_in_threadpool(installation.world.events.last)
        while not changes.closed:
            found = await run_in_threadpool(installation.world.events.read, after_seq=after, limit=_MOST)
            if found:
                after = found[-1].seq or after
                yield streams.event(after, "changed", {})
            else:
                yield streams.ALIVE
                await changes.wait(streams.ALIVE_EVERY_S)
    except AnubisError:  # the browser connects again
        return
