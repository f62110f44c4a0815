"""Streams of the output and of the samples of a run: events that a client resumes after a cut or a restart."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.concurrency import run_in_threadpool

from anubis.api.json_values import Json
from anubis.model.errors import AnubisError
from anubis.record.validation import DamagedError
from anubis.search.looking import Follower
from anubis.web import streams
from anubis.web.live.feeds import BehindError, Feed
from anubis.web.live.reading import Wanted, include
from anubis.web.live.seen import Seen
from anubis.web.live.watching import Watches


async def followed(watches: Watches, wanted: Wanted) -> AsyncIterator[bytes]:
    """Events until the run is final, also those of later attempts.

    The next data are read when the client has taken the last ones, so a slow client needs no more memory than a fast one.
    What is written from then on is read once for all clients (``feeds``).
    """
    with watches.follow(wanted.installation, wanted.run_id) as watch:
        try:
            last_id = ""
            seen = await watch.first()
            follower: Follower[Any] | None = None
            while not watches.closed:
                current, over, found = await run_in_threadpool(_next, wanted, follower, last_id, seen)
                follower = current
                if found:
                    last_id, text = wanted.event(current, found)
                    yield text
                elif current.place.attempt != seen.run.attempt:
                    follower = wanted.next_attempt(current, seen)
                elif over:
                    yield wanted.end(current, seen)[1]
                    return
                else:
                    feed = watch.feed(wanted.key, lambda: Feed(wanted))
                    last_id = str(current.place)
                    number = await feed.join(current, watch.newest)
                    if number is None:
                        seen = await watch.after(seen.version, streams.ALIVE_EVERY_S) or seen
                        yield streams.ALIVE_BYTES
                        continue
                    del current
                    follower = None
                    try:
                        async with aclosing(feed.events(number)) as events:
                            async for event_id, text in events:
                                last_id = event_id or last_id
                                yield text
                    except BehindError:
                        seen = watch.newest()
                    else:
                        return
        except (AnubisError, DamagedError):  # the client resumes when the store answers
            return


def _next(
    wanted: Wanted, follower: Follower[Any] | None, last_id: str, seen: Seen
) -> tuple[Follower[Any], bool, list[Json]]:
    """The follower, whether its attempt writes no more, and its next data."""
    if follower is None:
        follower = wanted.again(last_id) if last_id else wanted.first(seen)
    over = include(wanted, follower, seen)
    return follower, over, list(map(wanted.to_json, follower.batch(last=over)))
