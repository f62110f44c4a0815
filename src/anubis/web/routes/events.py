"""Events of runs: pages, and streams that a client resumes."""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from anubis.api.json_values import Json
from anubis.api.runs import event_to_json
from anubis.model.errors import AnubisError, BadInputError
from anubis.model.run import Event
from anubis.web import streams
from anubis.web.answers import Answer, NounRoute
from anubis.web.changes import Changes
from anubis.web.descriptors import MOST_NUMBER
from anubis.web.service import Asked, Asking, service_of
from anubis.wiring import Installation

router = APIRouter(route_class=NounRoute, tags=["events"])

#: Most events of one page.
MOST = 1000


@router.get("/events", summary="Events of runs", responses=streams.DOCUMENTED)
def events(
    *,
    request: Request,
    client: Asking,
    installation: Asked,
    run: Annotated[list[str], Query(description="References; by default the events of all runs.")] = [],  # noqa: B006
    after: Annotated[
        int | None, Query(ge=0, le=MOST_NUMBER, description="Number of the last event that is known.")
    ] = None,
    limit: Annotated[int, Query(ge=0, le=MOST)] = MOST,
) -> Response:
    """The events after a number (by default after the newest one), in order, and the number after which the next page begins.

    With the header Accept: text/event-stream they are sent as they happen. The id of an event is its number: with it in
    the header Last-Event-ID, the stream continues after that event.
    """
    wanted = frozenset(client.runs.get(ref).id for ref in run)
    start = after if after is not None else installation.world.events.last()
    if streams.is_wanted(request):
        if last_id := streams.resumed_at(request):
            if not (last_id.isdecimal() and int(last_id[:20]) <= MOST_NUMBER):
                raise BadInputError(
                    f"{last_id!r} is not the number of an event", remedy="use the id of an event"
                )
            start = int(last_id)
        return streams.answer(request, _followed(installation, service_of(request).changes, wanted, start))
    found = installation.world.events.read(after_seq=start, limit=limit) if limit else []
    shown = _chosen(found, wanted)
    return Answer({"events": list(map(_to_json, shown)), "after": _last(found, start)})


def _to_json(event: Event) -> Json:
    return {"run_id": event.run_id, **event_to_json(event)}


def _chosen(found: Sequence[Event], wanted: Collection[str]) -> list[Event]:
    return [event for event in found if not wanted or event.run_id in wanted]


def _last(found: Sequence[Event], start: int) -> int:
    return found[-1].seq or start if found else start


async def _followed(
    installation: Installation, changes: Changes, wanted: Collection[str], after: int
) -> AsyncIterator[str]:
    """The events of these runs, of all runs if there are none, after a number."""
    yield streams.ALIVE
    while not changes.closed:
        try:
            found = await run_in_threadpool(installation.world.events.read, after_seq=after, limit=MOST)
        except AnubisError:  # the client resumes when the database answers
            return
        after = _last(found, after)
        for event in _chosen(found, wanted):
            yield streams.event(event.seq or 0, "event", _to_json(event))
        if not found:
            yield streams.ALIVE
            await changes.wait(streams.ALIVE_EVERY_S)
