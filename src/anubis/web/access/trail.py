"""Stores the decisions about requests.

A refusal, and a decision about a request that changes something, is stored before the request is answered. Allowed
reads are counted and stored together every ``FLUSH_S`` seconds: reads of the last seconds before ``kill -9`` are lost.
"""

import contextlib
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace

from anubis.model.access.roles import Decision
from anubis.model.errors import AnubisError
from anubis.store.access.decisions import StoredDecisions

log = logging.getLogger(__name__)

FLUSH_S = 15.0
#: Reads of so many kinds are stored at once.
_MOST = 1000


class Trail:
    """The decisions of one service. May be used by several threads."""

    def __init__(self, decisions: StoredDecisions) -> None:
        self._decisions = decisions
        self._reads: dict[Decision, Decision] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def note(self, decision: Decision, *, is_read: bool) -> None:
        """Store a decision, or count it. Raises StoreError."""
        if not (is_read and decision.allowed):
            self._decisions.add([decision])
            return
        key = replace(decision, time_s=0.0, last_s=0.0)
        with self._lock:
            known = self._reads.get(key)
            if known:
                decision = replace(known, last_s=decision.last_s, count=known.count + 1)
            self._reads[key] = decision
            is_full = len(self._reads) >= _MOST
        if is_full:
            self.flush()

    def flush(self) -> None:
        """Store the counted reads."""
        with self._lock:
            found, self._reads = list(self._reads.values()), {}
        if found:
            self._decisions.add(found)

    @contextlib.contextmanager
    def writing(self, now_s: float) -> Iterator[None]:
        """Store counted reads until the end of the block, and forget old decisions now."""
        self._decisions.forget(now_s)
        thread = threading.Thread(target=self._write, name="decisions", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
            self._flush_or_warn()

    def _write(self) -> None:
        while not self._stop.wait(FLUSH_S):
            self._flush_or_warn()

    def _flush_or_warn(self) -> None:
        try:
            self.flush()
        except AnubisError as error:
            log.warning("decisions about reads are lost: %s", error)
