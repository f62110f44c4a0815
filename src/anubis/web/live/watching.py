"""Looks at the records of running benchmarks once for all clients that follow them, and wakes these when they grow."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from anubis.contracts.records import RecordKey
from anubis.model.errors import AnubisError
from anubis.model.run import Run
from anubis.record import layout
from anubis.record.validation import DamagedError
from anubis.web.changes import Changes
from anubis.web.live.feeds import Feed
from anubis.web.live.seen import Seen
from anubis.web.streams import ALIVE_EVERY_S
from anubis.wiring import Installation

#: How often a record that is followed is looked at, and after how many looks new replicas are looked for; seconds.
LOOK_EVERY_S, LOOKS_PER_LISTING = 0.25, 4
#: The files whose growth wakes clients.
_FILES = (layout.LINES, layout.STDOUT, layout.STDERR, layout.SAMPLES)


@dataclass(eq=False)
class Watch:
    """One run that clients follow. Used in the event loop."""

    installation: Installation
    run_id: str
    changes: Changes
    clients: int = 0
    seen: Seen | None = None
    #: What several clients follow, by what they have chosen.
    feeds: dict[Hashable, Feed] = field(default_factory=dict)
    _signature: object = None
    _looks: int = 0
    _looked_s: float = 0.0
    #: Version that the feeds have read, and when they gave a sign of life; monotonic seconds.
    _fed: int = 0
    _woken_s: float = 0.0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def first(self) -> Seen:
        """What is seen now, or was a moment ago. Raises AnubisError."""
        async with self._looking:
            if self.seen is None or time.monotonic() - self._looked_s > LOOK_EVERY_S:
                await self._look()
            return self.newest()

    def newest(self) -> Seen:
        """What was seen last, after ``first``."""
        assert self.seen is not None
        return self.seen

    def feed(self, key: Hashable, new: Callable[[], Feed]) -> Feed:
        """The feed of clients with this choice."""
        if key not in self.feeds or self.feeds[key].is_over:
            self.feeds[key] = new()
        return self.feeds[key]

    async def after(self, version: int, seconds: float) -> Seen | None:
        """What is seen when it is newer than this version; None after this time without a change."""
        if self.seen is not None and self.seen.version > version:
            return self.seen
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)
            return self.seen
        return None

    async def look_until_left(self) -> None:
        """Look until no client follows the run any more, or it has ended."""
        while self.clients:
            if self.changes.closed:
                self._changed.set()
                self._close_feeds()
                return
            await asyncio.sleep(LOOK_EVERY_S)
            async with self._looking:
                with contextlib.suppress(
                    AnubisError, DamagedError
                ):  # a database that does not answer is asked again
                    await self._look()
            await self._advance()

    async def _advance(self) -> None:
        """Let the feeds read what is new, and give signs of life."""
        if self.seen is None:
            return
        is_new, self._fed = self.seen.version != self._fed, self.seen.version
        is_due = time.monotonic() - self._woken_s >= ALIVE_EVERY_S
        if is_due:
            self._woken_s = time.monotonic()
        try:
            for feed in list(self.feeds.values()):
                if is_new:
                    await feed.advance(self.seen)
                if is_due:
                    feed.wake()
        except (AnubisError, DamagedError):
            self._close_feeds()

    def _close_feeds(self) -> None:
        for feed in self.feeds.values():
            feed.close()
        self.feeds.clear()

    async def _look(self) -> None:
        lists = self.seen is None or self._looks % LOOKS_PER_LISTING == 0
        self._looks += 1
        self._looked_s = time.monotonic()
        run, replicas, signature = await run_in_threadpool(self._read, lists)
        if signature != self._signature:
            self._signature = signature
            self.seen = Seen(self.seen.version + 1 if self.seen else 1, run, replicas)
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()

    def _read(self, lists: bool) -> tuple[Run, tuple[tuple[str, int], ...], object]:
        records, before = self.installation.world.records, self.seen
        run = self.installation.world.runs.get(self.run_id)
        if lists or before is None or before.run.attempt != run.attempt:
            replicas = tuple(
                sorted({(each.key.role, each.key.rank) for each in records.list(run.id, run.attempt)})
            )
        else:
            replicas = before.replicas
        sizes = [
            records.state(RecordKey(run.id, run.attempt, role, rank), file)
            for role, rank in replicas
            for file in _FILES
        ]
        return run, replicas, (run.status, run.attempt, replicas, sizes)


class Watches:
    """The runs that are followed."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._watches: dict[str, tuple[Watch, asyncio.Task[None]]] = {}

    @property
    def closed(self) -> bool:
        """Whether the service ends."""
        return self._changes.closed

    @contextlib.contextmanager
    def follow(self, installation: Installation, run_id: str) -> Iterator[Watch]:
        """Follow a run until the end of the block. Used in the event loop."""
        if run_id not in self._watches:
            watch = Watch(installation, run_id, self._changes)
            watch.clients = 1
            self._watches[run_id] = watch, asyncio.create_task(watch.look_until_left())
        else:
            watch = self._watches[run_id][0]
            watch.clients += 1
        try:
            yield watch
        finally:
            watch.clients -= 1
            if not watch.clients:
                self._watches.pop(run_id)[1].cancel()
