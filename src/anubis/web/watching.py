"""Looks at the records of running benchmarks once for all clients that follow them, and wakes these when they grow."""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from anubis.contracts.records import RecordKey
from anubis.model.errors import AnubisError
from anubis.model.run import Run
from anubis.record import layout
from anubis.record.validation import DamagedError
from anubis.web.changes import Changes
from anubis.wiring import Installation

#: How often a record that is followed is looked at, and after how many looks new replicas are looked for; seconds.
LOOK_EVERY_S, LOOKS_PER_LISTING = 0.25, 4
#: The files whose growth wakes clients.
_FILES = (layout.LINES, layout.STDOUT, layout.STDERR, layout.SAMPLES)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a run at one look."""

    #: Counts the looks at which something had changed.
    version: int
    run: Run
    #: Role and rank of the replicas of its current attempt.
    replicas: tuple[tuple[str, int], ...]


@dataclass(eq=False)
class Watch:
    """One run that clients follow. Used in the event loop."""

    installation: Installation
    run_id: str
    changes: Changes
    clients: int = 0
    seen: Seen | None = None
    _signature: object = None
    _looks: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def first(self) -> Seen:
        """What is seen now. Raises AnubisError."""
        async with self._looking:
            await self._look()
            assert self.seen is not None
            return self.seen

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
                return
            await asyncio.sleep(LOOK_EVERY_S)
            async with self._looking:
                with contextlib.suppress(
                    AnubisError, DamagedError
                ):  # a database that does not answer is asked again
                    await self._look()

    async def _look(self) -> None:
        lists = self.seen is None or self._looks % LOOKS_PER_LISTING == 0
        self._looks += 1
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
