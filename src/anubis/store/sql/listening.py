"""Listens to what the writers of a PostgreSQL database announce, in a thread with a separate connection."""

import contextlib
import logging
import os
import select
from collections.abc import Callable, Collection
from typing import Any

from anubis.model.errors import AnubisError
from anubis.store.sql.drivers import Driver, driver_for

log = logging.getLogger(__name__)

#: What is announced: new events; runs that may be claimed now, or were cancelled.
EVENTS, WORK = "events", "work"
#: Interval between checks of a connection without notices, seconds.
CHECK_EVERY_S = 30.0
#: Pause before the next attempt to connect, at first and at most, seconds.
PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0


class Listener:
    """Calls ``told`` with what was announced. Notices are lost while there is no connection, so each new one announces all."""

    def __init__(self, driver: Driver, told: Callable[[Collection[str]], None]) -> None:
        self._driver = driver
        self._told = told
        self._closed, self._close = os.pipe()
        #: Whether every change is announced now.
        self.connected = False

    def listen(self) -> None:
        """Listen until ``close``; the body of a thread."""
        pause_s = PAUSE_S
        trouble: tuple[type[Exception], ...] = (*self._driver.trouble, AnubisError)
        while True:
            try:
                with contextlib.closing(self._driver.connect()) as connection:
                    pause_s = PAUSE_S
                    self._follow(connection)
            except trouble as error:
                log.warning("changes by other processes are looked for: %s", str(error).strip())
            finally:
                self.connected = False
            if self._is_closed(pause_s):
                os.close(self._closed)
                return
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def close(self) -> None:
        """End the thread. May be called once, in any thread."""
        os.close(self._close)

    def _follow(self, connection: Any) -> None:
        """Pass on notices until ``close``. Raises an error of the driver when the connection ends."""
        news: set[str] = set()
        connection.add_notify_handler(lambda notice: news.add(notice.payload))
        connection.execute("LISTEN anubis")
        self.connected = True
        news |= {EVENTS, WORK}
        while True:
            if news:
                self._told(frozenset(news))
                news.clear()
            readable, _, _ = select.select([connection.fileno(), self._closed], [], [], CHECK_EVERY_S)
            if self._closed in readable:
                return
            connection.execute(
                "SELECT 1"
            )  # calls the handler for each notice; fails if the connection has ended

    def _is_closed(self, seconds: float) -> bool:
        return bool(select.select([self._closed], [], [], seconds)[0])


def listener_of(url: str, told: Callable[[Collection[str]], None]) -> Listener | None:
    """A listener for the database at this address; None for one that announces nothing (SQLite)."""
    driver = driver_for(url)
    return Listener(driver, told) if driver.notify else None
