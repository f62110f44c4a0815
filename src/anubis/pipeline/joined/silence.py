"""How long a joined worker has sent no request, as this process has observed it."""

import threading
from collections.abc import Callable

#: Looks that are further apart than this, or a third of the lease, begin a new observation: this process was stopped, or the
#: database did not answer, and the worker could not send a request either. Seconds.
LOOK_S = 5.0


class Silence:
    """Observes the numbers of requests of workers. Thread-safe."""

    def __init__(self, lease_s: float, monotonic_s: Callable[[], float]) -> None:
        self._lease_s = lease_s
        self._monotonic_s = monotonic_s
        #: Worker -> number of its requests, since when, and the last look.
        self._seen: dict[str, tuple[int, float, float]] = {}
        self._lock = threading.Lock()

    def is_over(self, worker: str, beats: int) -> bool:
        """Whether the worker has sent no request for the time of a lease. ``beats``: how many it has sent."""
        now_s = self._monotonic_s()
        with self._lock:
            known, since_s, looked_s = self._seen.get(worker, (-1, now_s, now_s))
            if known != beats or now_s - looked_s > max(self._lease_s / 3, LOOK_S):
                since_s = now_s
            self._seen[worker] = (beats, since_s, now_s)
        return now_s - since_s > self._lease_s
