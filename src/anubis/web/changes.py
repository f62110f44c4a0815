"""Wakes the requests that follow events when there are new ones."""

import asyncio
import contextlib
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool

#: How often the events of other processes are looked for while requests follow them, seconds.
LOOK_EVERY_S = 0.5


class Changes:
    """New events: those of this process at once, those of other processes when ``note`` is called or they are looked for.

    All methods except ``note`` and ``close`` are called in the event loop.
    """

    def __init__(
        self, last: Callable[[], int], look_every_s: Callable[[], float] = lambda: LOOK_EVERY_S
    ) -> None:
        """``last`` reads the number of the newest event; ``look_every_s`` is the interval between such queries now."""
        self._last = last
        self._look_every_s = look_every_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Event] = set()
        self._looking: asyncio.Task[None] | None = None
        #: Whether the service ends, and so do all requests that follow events.
        self.closed = False

    def note(self) -> None:
        """There may be new events. May be called in any thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._wake)

    def close(self) -> None:
        """End the requests that follow events. May be called in any thread."""
        self.closed = True
        self.note()

    async def wait(self, seconds: float) -> None:
        """Wait for new events, at most this long."""
        self._loop = asyncio.get_running_loop()
        if self.closed:
            return
        if self._looking is None:
            self._looking = self._loop.create_task(self._look())
        new = asyncio.Event()
        self._waiting.add(new)
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(new.wait(), seconds)
        finally:
            self._waiting.discard(new)

    def _wake(self) -> None:
        for event in self._waiting:
            event.set()

    async def _look(self) -> None:
        """Look for events of other processes until no request follows events any more."""
        seen = -1
        try:
            while self._waiting and not self.closed:
                with contextlib.suppress(Exception):  # a database that does not answer is asked again
                    last = await run_in_threadpool(self._last)
                    if last != seen:
                        seen = last
                        self._wake()
                await asyncio.sleep(self._look_every_s())
        finally:
            self._looking = None
