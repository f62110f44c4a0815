"""``anubis worker --join``: asks a service for attempts, and has exactly those that it names.

One thread waits for orders, another one reports what has changed here. Every request contains the states of all attempts,
so a request can be lost or repeated, and each side can be started again at any time.
"""

import logging
import random
import socket
import threading
import time
from collections.abc import Callable

from anubis import __version__
from anubis.api.joined import PROTOCOL, Orders, Turn
from anubis.client.joining.attempt import Attempt
from anubis.client.joining.connection import TokenError, WorkerConnection
from anubis.client.joining.machine import Machine
from anubis.client.joining.spool import Spool
from anubis.model.errors import AnubisError, BadInputError, ConflictError
from anubis.model.joined import Report

log = logging.getLogger(__name__)

#: Pauses after requests without an answer double between these, seconds; but they are never longer than this share of the
#: lease, so that a worker does not lose its attempts because it waits when the service is back.
SHORTEST_PAUSE_S, LONGEST_PAUSE_S, PAUSE = 0.2, 10.0, 1 / 4
#: Longest wait of the loop, seconds.
LOOK_S = 60.0
#: Share of the lease that a request may wait for orders.
WAIT = 1 / 3
#: Errors with which the service refuses this worker; after all others the request is repeated.
FATAL = (TokenError, BadInputError, ConflictError)


class Joined:
    """A worker of one service."""

    def __init__(
        self, connection: WorkerConnection, machine: Machine, spool: Spool, labels: tuple[str, ...]
    ) -> None:
        self._connection = connection
        self._machine = machine
        self._spool = spool
        self._labels = labels
        self._place = spool.place()
        #: Attempts, and the monotonic time since which each is known here.
        self._attempts: dict[tuple[str, int], Attempt] = {}
        self._known_s: dict[tuple[str, int], float] = {}
        #: What requests report; replaced as a whole by the loop.
        self._reports: tuple[Report, ...] = ()
        #: Answers that the loop has not applied, each with the monotonic time of its request; appending is atomic.
        self._answers: list[tuple[float, Orders]] = []
        self._sends_facts = True
        self._wake, self._changed, self._ended = (threading.Event() for _ in range(3))
        self._error: AnubisError | None = None

    def work(self, stopped: threading.Event, joined: Callable[[Orders], None]) -> None:
        """Work until the event is set; benchmarks then continue, and the next worker of this home folder takes them over.

        ``joined`` is called after the first answer. Raises the error with which the service refuses this worker.
        """
        for run in self._spool.begun():
            self._add(Attempt.begun(run, self._machine, self._connection, self._spool))
        self._reports = tuple(each.report for each in self._attempts.values())
        if not self._join(stopped, joined):
            return
        for name, body in (("orders", self._ask), ("reports", self._report)):
            threading.Thread(target=body, name=name, daemon=True).start()
        try:
            while not stopped.is_set() and self._error is None:
                self._turn()
            if self._error is not None:
                self._end_all(stopped)
                raise self._error
        finally:
            self._ended.set()
            self._changed.set()
            for attempt in self._attempts.values():
                attempt.stop()

    def wake(self) -> None:
        """Let the loop look at its conditions. May be called by the handler of a signal."""
        self._wake.set()

    def _join(self, stopped: threading.Event, joined: Callable[[Orders], None]) -> bool:
        """The first request, until it is answered; False if the worker was stopped before."""
        pauses = Pauses(stopped)
        while not stopped.is_set():
            try:
                orders = self._request(0.0, "")
            except FATAL:
                raise
            except AnubisError as error:
                pauses.after(error)
                continue
            self._spool.note_joined(self._connection.url, orders.name)
            joined(orders)
            return True
        return False

    def _request(self, wait_s: float, tag: str) -> Orders:
        """Send the state of everything; the answer is also applied by the loop."""
        sent_s = time.monotonic()
        machine = self._machine
        orders = self._connection.turn(
            Turn(
                protocol=PROTOCOL,
                place=self._place,
                release=__version__,
                host=socket.gethostname(),
                labels=self._labels,
                engines=tuple(machine.engines),
                slots=machine.slots,
                facts=machine.facts() if self._sends_facts else None,
                reports=self._reports,
                wait_s=wait_s,
                tag=tag,
            )
        )
        self._sends_facts = False
        self._answers.append((sent_s, orders))
        self._wake.set()
        return orders

    def _ask(self) -> None:
        """Wait for orders, again and again; the body of a thread."""
        pauses, newest = Pauses(self._ended), Orders(protocol=PROTOCOL)
        while not self._ended.is_set():
            try:
                newest = self._request(newest.lease_s * WAIT, newest.tag)
                pauses.reset()
                pauses.longest_s = min(LONGEST_PAUSE_S, newest.lease_s * PAUSE)
            except FATAL as error:
                self._fail(error)
                return
            except AnubisError as error:
                self._sends_facts = True  # it may be another service now, with an older database
                pauses.after(error)

    def _report(self) -> None:
        """Report changes at once; the body of a thread. The other one reports what cannot be sent here."""
        while not self._ended.is_set():
            self._changed.wait()
            self._changed.clear()
            try:
                if not self._ended.is_set():
                    self._request(0.0, "")
            except FATAL as error:
                self._fail(error)
                return
            except AnubisError:
                continue

    def _fail(self, error: AnubisError) -> None:
        self._error = error
        self._wake.set()

    def _turn(self) -> None:
        """Apply answers, drive all attempts, and wait."""
        while self._answers:
            self._apply(*self._answers.pop(0))
        self._step()
        now_s = time.monotonic()
        wait_s = min(
            [LOOK_S, *(each.due_s() - now_s for each in self._attempts.values() if not each.is_over)]
        )
        if wait_s > 0:
            self._wake.wait(wait_s)
        self._wake.clear()

    def _apply(self, sent_s: float, orders: Orders) -> None:
        """Begin and cancel attempts. One that an answer does not name is ended if it was known before that request."""
        named = {(each.run_id, each.attempt): each for each in orders.orders}
        for key, order in named.items():
            if key not in self._attempts:
                self._add(Attempt(key, self._machine, self._connection, self._spool))
            attempt = self._attempts[key]
            if order.cancel and not attempt.is_cancelled:
                attempt.is_cancelled = True
                attempt.hurry()
        for key, attempt in self._attempts.items():
            if key not in named and attempt.is_wanted and self._known_s[key] < sent_s:
                if not attempt.is_over:
                    log.warning("the service has given up attempt %s of run %s; it is ended", key[1], key[0])
                attempt.is_wanted = False
                attempt.hurry()

    def _step(self) -> None:
        for key, attempt in list(self._attempts.items()):
            attempt.step()
            if attempt.is_over and not attempt.is_wanted:
                attempt.clean()
                del self._attempts[key], self._known_s[key]
        reports = tuple(each.report for each in self._attempts.values())
        if reports != self._reports:
            self._reports = reports
            self._changed.set()

    def _end_all(self, stopped: threading.Event) -> None:
        """End every attempt: the service does not want them from this worker any more."""
        for attempt in self._attempts.values():
            attempt.is_wanted = False
            attempt.hurry()
        while self._attempts and not stopped.is_set():
            self._answers.clear()
            self._turn()

    def _add(self, attempt: Attempt) -> None:
        self._attempts[attempt.key] = attempt
        self._known_s[attempt.key] = time.monotonic()


class Pauses:
    """Growing pauses after failures in a row, with one message for each failure that differs."""

    def __init__(self, stopped: threading.Event) -> None:
        self._stopped = stopped
        self.longest_s = LONGEST_PAUSE_S
        self.reset()

    def reset(self) -> None:
        """The last request was answered."""
        self._pause_s, self._said = SHORTEST_PAUSE_S, ""

    def after(self, error: AnubisError) -> None:
        """Wait after a failure."""
        if str(error.message) != self._said:
            self._said = str(error.message)
            log.warning("%s; trying again", error.message)
        self._stopped.wait(self._pause_s * random.uniform(0.5, 1.0))
        self._pause_s = min(2 * self._pause_s, self.longest_s)
