"""What all chores share that deliver to receivers: leases, one thread for each receiver, and retries."""

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, Protocol, TypeVar

from anubis.contracts.clock import Clock
from anubis.model.errors import StoreError
from anubis.model.run import LONGEST_PAUSE_S
from anubis.pipeline.lease_owner import is_dead, new_owner

log = logging.getLogger(__name__)

#: First pause after a failed attempt, seconds; it doubles up to ``LONGEST_PAUSE_S``.
FIRST_PAUSE_S = 1.0
#: Duration of the lease of a delivery, seconds.
LEASE_S = 60.0
#: Interval between checks for due deliveries while attempts are in progress, seconds.
LOOK_EVERY_S = 1.0
#: Maximum number of concurrent deliveries that are not slow, and of all. Each is to another receiver.
AT_ONCE, AT_ONCE_WITH_SLOW = 8, 64
#: A delivery that takes longer, in seconds, is slow: its receiver probably hangs.
SLOW_S = 5.0


class Due(Protocol):
    """What can be delivered: a row with a number and a due time (UTC seconds)."""

    @property
    def no(self) -> int | None: ...

    @property
    def due_s(self) -> float: ...


D = TypeVar("D", bound=Due)


class Queue(Protocol[D]):
    """Rows that are claimed under leases; ``Deliveries`` and ``Sinks`` have these methods."""

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[D]: ...

    def renew(self, owner: str, numbers: Sequence[int], *, now_s: float, lease_s: float) -> Sequence[int]: ...

    def release(self, owner: str) -> None: ...

    def owners(self) -> Sequence[str]: ...

    def next_due_s(self) -> float | None: ...


class Delivering(Generic[D]):
    """A chore that delivers what is due.

    Each delivery has a separate thread, so a receiver that is slow or does not answer delays no other delivery, unless
    there are ``AT_ONCE_WITH_SLOW`` such receivers.
    The outcome is stored after the attempt. If the process dies in between, the attempt is repeated.
    """

    name = ""

    def __init__(self, queue: Queue[D], clock: Clock, lease_s: float) -> None:
        self._queue = queue
        self._clock = clock
        self._lease_s = lease_s
        self._owner = new_owner()
        self._turning = threading.Lock()
        #: The deliveries that have a thread, by number, with the monotonic time of their start.
        self._under_way: dict[int, float] = {}
        #: Numbers of the deliveries whose attempt has no outcome yet.
        self._attempts: set[int] = set()
        #: Failed deliveries, by number: due time as stored, and monotonic time of the next attempt. The wall clock may jump.
        self._retries_s: dict[int, tuple[float, float]] = {}
        #: Numbers of the deliveries whose thread has ended.
        self._ended: SimpleQueue[int] = SimpleQueue()

    def turn(self) -> float | None:
        """Deliver what is due; seconds until the next delivery is due, None if none is pending."""
        with self._turning:
            if self._queue.next_due_s() is None:
                return None
            for owner in self._queue.owners():
                if is_dead(owner):
                    self._queue.release(owner)
            self._deliver_due()
            self._forget()
            due_s = self._queue.next_due_s()
        if due_s is None:
            return None
        wait_s = due_s - self._clock.now_s()
        return wait_s if 0.0 < wait_s <= LONGEST_PAUSE_S else 0.0

    def _forget(self) -> None:
        """Delete old results."""

    def _attempt(self, item: D) -> bool:
        """Attempt a delivery in this thread, and store its outcome; False if the lease was lost."""
        raise NotImplementedError

    def _store_due(self, item: D, due_s: float) -> None:
        """Store a due time without an attempt, and release the lease."""
        raise NotImplementedError

    def _shown(self, item: D) -> str:
        """The receiver in messages."""
        raise NotImplementedError

    def _deliver_due(self) -> None:
        """Start due deliveries and renew the leases of long ones, until none is due or in progress."""
        renewed_s = self._clock.monotonic_s()
        while True:
            self._start_due()
            if not self._under_way:
                return
            with suppress(Empty):
                self._under_way.pop(self._ended.get(timeout=min(LOOK_EVERY_S, self._lease_s / 3)), None)
            if self._under_way and self._clock.monotonic_s() - renewed_s >= self._lease_s / 3:
                renewed_s, now_s = self._clock.monotonic_s(), self._clock.now_s()
                self._queue.renew(self._owner, list(self._under_way), now_s=now_s, lease_s=self._lease_s)

    def _start_due(self) -> None:
        now_s, started_s = self._clock.now_s(), self._clock.monotonic_s()
        quick = sum(started_s - since_s < SLOW_S for since_s in self._under_way.values())
        room = min(AT_ONCE - quick, AT_ONCE_WITH_SLOW - len(self._under_way))
        if room <= 0:
            return
        for item in self._queue.claim(self._owner, now_s=now_s, lease_s=self._lease_s, limit=room):
            number = item.no or 0
            if number in self._attempts:  # its lease expired in the database because the wall clock jumped
                continue
            due_s, retry_s = self._retries_s.pop(number, (0.0, 0.0))
            if item.due_s == due_s and retry_s > started_s:  # it is due only because the wall clock jumped
                self._store_due(item, self._due_after(item, retry_s - started_s))
                continue
            self._attempts.add(number)
            # A daemon thread: the program need not wait for receivers; the lease of a dead owner is released.
            threading.Thread(target=self._deliver, args=(item,), name=self.name, daemon=True).start()
            self._under_way[number] = started_s

    def _deliver(self, item: D) -> None:
        try:
            if not self._attempt(item):
                log.warning("another relay took over a delivery to %s", self._shown(item))
        except StoreError as error:
            log.warning("cannot store the outcome of a delivery, so it is repeated: %s", error)
        except Exception:
            log.exception("cannot store the outcome of a delivery, so it is repeated")
        finally:
            self._attempts.discard(item.no or 0)
            self._ended.put(item.no or 0)

    def _made(self, item: D) -> None:
        """Note that the attempt has an outcome, before it is stored: then the row can be claimed again."""
        self._attempts.discard(item.no or 0)

    def _due_after(self, item: D, wait_s: float) -> float:
        """The due time of the next attempt, which this process does not make earlier if the wall clock jumps."""
        due_s = self._clock.now_s() + min(wait_s, LONGEST_PAUSE_S)
        self._retries_s[item.no or 0] = due_s, self._clock.monotonic_s() + wait_s
        return due_s


def pause_s(attempts: int) -> float:
    """Pause after so many failed attempts in a row, seconds."""
    return min(FIRST_PAUSE_S * 2.0 ** min(attempts - 1, 30), LONGEST_PAUSE_S)
