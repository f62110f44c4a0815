"""Wakes the requests and the reconcilers of a service when other processes announce changes in the database."""

import contextlib
import threading
from collections.abc import Collection, Iterator

from anubis.store import EVENTS, WORK, Listener, listener_of
from anubis.web.changes import LOOK_EVERY_S, Changes
from anubis.web.drivers import Drivers

#: Interval between queries while changes are announced, seconds: it finds what was not announced, such as the end of a process.
SLOW_S = 5.0


class Announced:
    """What is announced. A database on SQLite announces nothing, so that it is queried all the time."""

    def __init__(self, database_url: str) -> None:
        self._listener: Listener | None = listener_of(database_url, self._told)
        self._changes: Changes | None = None
        self._drivers: Drivers | None = None

    def is_complete(self) -> bool:
        """Whether all changes are announced now."""
        return self._listener is not None and self._listener.connected

    def look_every_s(self, otherwise_s: float = LOOK_EVERY_S) -> float:
        """The interval between queries for changes now, seconds."""
        return SLOW_S if self.is_complete() else otherwise_s

    @contextlib.contextmanager
    def waking(self, changes: Changes, drivers: Drivers) -> Iterator[None]:
        """Wake these until the end of the block."""
        self._changes, self._drivers = changes, drivers
        if self._listener is None:
            yield
            return
        thread = threading.Thread(target=self._listener.listen, name="listener", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._listener.close()
            thread.join()

    def _told(self, news: Collection[str]) -> None:
        if EVENTS in news and self._changes is not None:
            self._changes.note()
        if WORK in news and self._drivers is not None:
            self._drivers.look()
