"""Waiting for runs that a service drives."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

from anubis.client.protocol.runs import Runs
from anubis.client.remote.connection import MOST_NAMED, Params, ServiceConnection
from anubis.contracts.runs import RunQuery
from anubis.model.errors import NotFoundError, StoreError
from anubis.model.run import Run
from anubis.model.status import Status

#: How long a service that does not answer is waited for, and the pause between two attempts, seconds.
PATIENCE_S, PAUSE_S = 120.0, 0.5
#: Interval between complete looks at all runs, seconds: not every change has an event.
LOOK_EVERY_S = 1.0


def wait(
    connection: ServiceConnection, runs: Runs, run_ids: Sequence[str], changed: Callable[[Run], None] | None
) -> None:
    """Wait until these runs are final or deleted, also while the service is started again.

    Raises StoreError if the service does not answer for ``PATIENCE_S`` seconds.
    """
    waiting = _Waiting(runs, run_ids, changed)
    answered_s = time.monotonic()
    while True:
        try:
            with closing(_changes(connection, run_ids)) as changes:
                for run_id in changes:
                    waiting.look(run_id)
                    if waiting.over:
                        return
                    answered_s = time.monotonic()
        except StoreError:
            if time.monotonic() - answered_s > PATIENCE_S:
                raise
        time.sleep(PAUSE_S)


def resumed(connection: ServiceConnection, path: str, params: Params) -> Iterator[Any]:
    """The data of server-sent events up to one with a status, also while the service is started again.

    Raises StoreError if the service does not answer for ``PATIENCE_S`` seconds.
    """
    last_id: str | None = None
    answered_s = time.monotonic()
    while True:
        try:
            with closing(connection.follow(path, params, last_id=last_id)) as events:
                for event in events:
                    answered_s = time.monotonic()
                    if event is not None:
                        last_id, data = event
                        yield data
                        if "status" in data:
                            return
        except StoreError:
            if time.monotonic() - answered_s > PATIENCE_S:
                raise
        time.sleep(PAUSE_S)


def _changes(connection: ServiceConnection, run_ids: Sequence[str]) -> Generator[str | None, None, None]:
    """The ids of runs that changed, as they change; None: any of them may have changed."""
    after = connection.get("events", [("limit", "0")])["after"]
    yield None
    named = [("run", run_id) for run_id in run_ids] if len(run_ids) <= MOST_NAMED else []
    with closing(connection.follow("events", [("after", str(after)), *named])) as events:
        for event in events:
            yield None if event is None else event[1]["run_id"]


class _Waiting:
    """The runs that are not final yet."""

    def __init__(self, runs: Runs, run_ids: Sequence[str], changed: Callable[[Run], None] | None) -> None:
        #: Run id -> last known status and reason.
        self._known: dict[str, tuple[Status, str] | None] = dict.fromkeys(run_ids)
        self._runs = runs
        self._changed = changed
        self._looked_s = -LOOK_EVERY_S

    @property
    def over(self) -> bool:
        return not self._known

    def look(self, run_id: str | None) -> None:
        """Look at one run, or at all."""
        if run_id in self._known:
            self._note(run_id)
        elif run_id is None and time.monotonic() - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = time.monotonic()
            rows = self._runs.find(RunQuery(ids=tuple(self._known), limit=max(1, len(self._known))))
            for purged in self._known.keys() - {row.id for row in rows}:
                del self._known[purged]
            for row in rows:
                if self._known[row.id] != (row.status, row.reason):
                    self._note(row.id)

    def _note(self, run_id: str) -> None:
        try:
            run = self._runs.get(run_id)
        except NotFoundError:
            del self._known[run_id]
            return
        if run.status.final:
            del self._known[run_id]
        else:
            self._known[run_id] = (run.status, run.reason)
        if self._changed:
            self._changed(run)
