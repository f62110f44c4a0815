"""Renews the leases of held runs in a separate thread, independently of what their reconciler does.

Only the monotonic clock decides whether a lease is still valid, starting at the time at which it was last
confirmed. If the database does not answer, this thread ends, or the process is stopped for some time, leases
expire here no later than in the database.
"""

import logging
import threading
from collections.abc import Callable

from anubis.contracts.clock import Clock
from anubis.contracts.leases import Leases

log = logging.getLogger(__name__)

#: A lease is renewed after this share of its duration.
RENEW_AFTER = 1 / 3
#: Pause after a failed renewal, seconds.
AGAIN_AFTER_S = 1.0


class LeaseKeeper:
    """The leases of one owner. Thread-safe."""

    def __init__(
        self, leases: Leases, owner: str, clock: Clock, *, lease_s: float, lost: Callable[[], None]
    ) -> None:
        self._leases = leases
        self._owner = owner
        self._clock = clock
        self._lease_s = lease_s
        #: Called from the thread when a lease is lost.
        self._lost = lost
        self._lock = threading.Lock()
        #: Run id -> monotonic time until which its lease is certainly valid.
        self._until: dict[str, float] = {}
        self._stopped = threading.Event()

    def keep(self) -> None:
        """Renew leases until ``stop``; the body of the thread."""
        wait_s = self._lease_s * RENEW_AFTER
        while not self._stopped.is_set():
            self._clock.wait(self._stopped, wait_s)
            try:
                self.turn()
            except Exception as error:  # noqa: BLE001  leases that are not renewed expire, which the loop notices
                log.warning("leases could not be renewed: %s; trying again in %g s", error, AGAIN_AFTER_S)
                wait_s = min(AGAIN_AFTER_S, self._lease_s * RENEW_AFTER)
            else:
                wait_s = self._lease_s * RENEW_AFTER

    def turn(self) -> None:
        """Renew every lease that is still certainly valid."""
        asked_s = self._clock.monotonic_s()
        with self._lock:
            asked = [run_id for run_id, until_s in self._until.items() if asked_s < until_s]
        if not asked or self._stopped.is_set():
            return
        kept = self._leases.renew(self._owner, asked, now_s=self._clock.now_s(), lease_s=self._lease_s)
        with self._lock:
            for run_id in asked:
                if run_id in self._until:  # it may have been dropped meanwhile
                    self._until[run_id] = asked_s + self._lease_s if run_id in kept else asked_s
        if len(kept) < len(asked):
            self._lost()

    def hold(self, run_id: str, since_s: float) -> None:
        """Renew this lease from now on; ``since_s``: a monotonic time not after its claim."""
        with self._lock:
            self._until[run_id] = since_s + self._lease_s

    def drop(self, run_id: str) -> None:
        """Do not renew this lease any more."""
        with self._lock:
            self._until.pop(run_id, None)

    def holds(self, run_id: str) -> bool:
        """Whether the lease is certainly valid now."""
        with self._lock:
            return self._clock.monotonic_s() < self._until.get(run_id, 0.0)

    def lost(self) -> list[str]:
        """The runs whose leases were lost or expired since the last call; they are dropped."""
        now_s = self._clock.monotonic_s()
        with self._lock:
            lost = [run_id for run_id, until_s in self._until.items() if until_s <= now_s]
            for run_id in lost:
                del self._until[run_id]
        return lost

    def stop(self) -> None:
        """End the thread. A renewal in progress is completed; no other follows."""
        self._stopped.set()
