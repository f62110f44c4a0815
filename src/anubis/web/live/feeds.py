"""Reads what many clients follow once for all of them.

A client first reads what is there (``following``). When it has everything, its follower becomes the one of the feed, or, if
the feed has one that is at the same place, is dropped. From then on the client takes its events from the feed, which keeps
the last ones. A client that is slower than that continues alone, at the place of the last event that it took.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool

from anubis.api.json_values import Json
from anubis.model.errors import AnubisError
from anubis.record.validation import DamagedError
from anubis.search.looking import Follower
from anubis.web import streams
from anubis.web.live.reading import Wanted, include
from anubis.web.live.seen import Seen

#: What a feed keeps: at most so many events, and so many bytes.
MOST_EVENTS, MOST_BYTES = 512, 4 << 20


class BehindError(Exception):
    """The feed no longer has the next event of a client."""


class Feed:
    """The events of one run and kind that several clients follow. Used in the event loop."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._follower: Follower[Any] | None = None
        #: Id and text of the last events.
        self._events: deque[tuple[str, bytes]] = deque()
        #: Number of the first of them.
        self._start = 0
        self._size_bytes = 0
        self._clients = 0
        self._over = False
        self._changed = asyncio.Event()
        self._reading = asyncio.Lock()

    @property
    def is_over(self) -> bool:
        """Whether it gets no further events."""
        return self._over

    @property
    def _end(self) -> int:
        return self._start + len(self._events)

    async def join(self, follower: Follower[Any], newest: Callable[[], Seen]) -> int | None:
        """The number of the first event that a client with this follower needs; None: it is at another place.

        ``newest`` is what is seen of the run now: the client may have read before the last look at it.
        """
        async with self._reading:
            number = self._end
            if self._over:  # since the client has asked for it
                return None
            if self._follower is None:
                self._forget()
                number, self._follower = self._end, follower
                await self._read(newest())  # later looks advance this feed
            elif not _same(follower.place, self._follower.place):
                await self._read(newest())
                number = self._end
                if self._follower is None or not _same(follower.place, self._follower.place):
                    return None
            self._clients += 1
            return number

    async def events(self, number: int) -> AsyncGenerator[tuple[str, bytes]]:
        """Id and text of the events from this number on, which ``join`` returned, until the end; signs of life between.

        Raises BehindError if the client is too slow.
        """
        try:
            while number >= self._start:
                if number < self._end:
                    event = self._events[number - self._start]
                    number += 1
                    yield event
                elif self._over:
                    return
                else:
                    before = self._changed
                    await before.wait()
                    if number == self._end and not self._over:
                        yield "", streams.ALIVE_BYTES
            raise BehindError
        finally:
            self._clients -= 1

    async def advance(self, seen: Seen) -> None:
        """Read what is new. Without clients nothing is read, until another one joins. Raises as the readers do."""
        async with self._reading:
            if self._clients:
                await self._read(seen)
            else:
                self._follower = None

    def wake(self) -> None:
        """Wake the clients: there are events, or they get a sign of life."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def close(self) -> None:
        """End all clients: they continue when the store answers."""
        self._over, self._follower = True, None
        self.wake()

    async def _read(self, seen: Seen) -> None:
        before = self._end
        while self._follower is not None:
            follower = self._follower
            try:
                over, found = await run_in_threadpool(_some, self._wanted, follower, seen)
            except (AnubisError, DamagedError):
                self.close()  # what it has read may be lost
                raise
            if found:
                self._publish(*self._wanted.event(follower, found))
            elif follower.place.attempt != seen.run.attempt:
                self._follower = self._wanted.next_attempt(follower, seen)
            elif over:
                self._publish(*self._wanted.end(follower, seen))
                self._over, self._follower = True, None
            else:
                break
        if self._end > before:
            self.wake()

    def _publish(self, number: str, text: bytes) -> None:
        self._events.append((number, text))
        self._size_bytes += len(text)
        while len(self._events) > MOST_EVENTS or (len(self._events) > 1 and self._size_bytes > MOST_BYTES):
            self._size_bytes -= len(self._events.popleft()[1])
            self._start += 1

    def _forget(self) -> None:
        """The events of a follower that is gone; numbers are never used again."""
        self._start, self._size_bytes = self._end + 1, 0
        self._events.clear()


def _some(wanted: Wanted, follower: Follower[Any], seen: Seen) -> tuple[bool, list[Json]]:
    """Whether the attempt writes no more, and the next data."""
    over = include(wanted, follower, seen)
    return over, list(map(wanted.to_json, follower.batch(last=over)))


def _same(one: Any, other: Any) -> bool:
    """Whether two places are equal; their replicas may have been found in another order."""
    return (one.attempt, one.replicas) == (other.attempt, other.replicas)
