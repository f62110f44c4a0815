"""Limits of rates: buckets that are filled at a constant rate, one for each token or address."""

import threading
from collections import OrderedDict
from collections.abc import Callable

#: Requests of one token: at most so many at once, and so many per second.
TOKEN_BURST, TOKEN_PER_S = 2000, 500.0
#: Refused tokens of one address: at most so many at once, and so many per second.
FAILED_BURST, FAILED_PER_S = 10, 0.2
#: Most buckets; the one that was not used for longest is dropped.
_MOST = 10_000


class Rates:
    """Buckets by name. May be used by several threads."""

    def __init__(self, burst: float, per_s: float, monotonic_s: Callable[[], float]) -> None:
        self._burst = burst
        self._per_s = per_s
        self._now_s = monotonic_s
        #: Name -> what is left, and when that was.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait_s(self, name: str) -> float:
        """Seconds until the bucket is not empty; 0: it is not empty. Takes nothing."""
        with self._lock:
            return self._wait_s(self._left(name))

    def take(self, name: str) -> float:
        """Take one from the bucket, if there is one. Seconds until there is one; 0: it was taken."""
        with self._lock:
            left = self._left(name)
            wait_s = self._wait_s(left)
            self._buckets[name] = (left if wait_s else left - 1, self._now_s())
            self._buckets.move_to_end(name)
            while len(self._buckets) > _MOST:
                self._buckets.popitem(last=False)
            return wait_s

    def _left(self, name: str) -> float:
        left, then_s = self._buckets.get(name, (self._burst, 0.0))
        return min(self._burst, left + max(0.0, self._now_s() - then_s) * self._per_s)

    def _wait_s(self, left: float) -> float:
        return 0.0 if left >= 1 else (1 - left) / self._per_s
