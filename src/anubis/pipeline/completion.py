"""Waits for runs. The store is queried at intervals, because other processes may drive the runs."""

import time
from collections.abc import Callable, Sequence

from anubis.contracts.runs import RunQuery, RunReader
from anubis.model.run import Run
from anubis.model.status import Status

#: Interval between queries of the store, seconds.
LOOK_EVERY_S = 0.25


class Waiting:
    """The runs of a set that are not final yet."""

    def __init__(
        self, runs: RunReader, run_ids: Sequence[str], changed: Callable[[Run], None] | None
    ) -> None:
        #: Run id -> last known status and reason.
        self._known: dict[str, tuple[Status, str] | None] = dict.fromkeys(run_ids)
        self._runs = runs
        self._changed = changed
        self._looked_s = 0.0

    def note(self, run: Run) -> None:
        """Note that a run has changed."""
        if run.id not in self._known:
            return
        if run.status.final:
            del self._known[run.id]
        else:
            self._known[run.id] = (run.status, run.reason)
        if self._changed:
            self._changed(run)

    def over(self) -> bool:
        """Whether all runs are final or deleted."""
        now_s = time.monotonic()
        if self._known and now_s - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = now_s
            rows = self._runs.find(RunQuery(ids=tuple(self._known), limit=len(self._known)))
            for purged in self._known.keys() - {row.id for row in rows}:
                del self._known[purged]
            for row in rows:
                if self._known[row.id] != (row.status, row.reason):
                    self.note(self._runs.get(row.id))
        return not self._known
