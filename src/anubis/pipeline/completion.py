"""Which of some runs are not final yet; asks the store now and then, for others may drive them."""

import time
from collections.abc import Callable, Sequence

from anubis.contracts.runs import RunQuery, RunReader
from anubis.model.run import Run
from anubis.model.status import Status

#: How often runs that another process drives are looked at, seconds.
LOOK_EVERY_S = 0.25


class Waiting:
    """Which of some runs are not final yet; asks the store now and then, for others may drive them."""

    def __init__(
        self, runs: RunReader, run_ids: Sequence[str], changed: Callable[[Run], None] | None
    ) -> None:
        #: Run id -> status and reason when it was last heard of.
        self._known: dict[str, tuple[Status, str] | None] = dict.fromkeys(run_ids)
        self._runs = runs
        self._changed = changed
        self._looked_s = 0.0

    def note(self, run: Run) -> None:
        """The run has changed."""
        if run.id not in self._known:
            return
        if run.status.final:
            del self._known[run.id]
        else:
            self._known[run.id] = (run.status, run.reason)
        if self._changed:
            self._changed(run)

    def over(self) -> bool:
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
