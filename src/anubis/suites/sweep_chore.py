"""Drives sweeps: submits their cells while the runs are driven, and applies their rules."""

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from anubis.contracts.runs import RunQuery, RunRow
from anubis.contracts.sweeps import Sweep, SweepPhase
from anubis.contracts.world import World
from anubis.late import late
from anubis.model.cause import Cause
from anubis.model.errors import AnubisError, ConflictError, NotFoundError, StoreError

if TYPE_CHECKING:
    from anubis.suites import sweep_actions, sweep_cells, sweep_state
else:  # pydantic
    sweep_actions = late("anubis.suites.sweep_actions")
    sweep_cells = late("anubis.suites.sweep_cells")
    sweep_state = late("anubis.suites.sweep_state")

log = logging.getLogger(__name__)

#: Runs of one sweep that are submitted ahead of the engine, if the sweep has no limit.
AHEAD = 128
#: The same, if the engine has a queue that also honours the limit of the sweep.
QUEUED = 1000
#: Pause between two turns while a sweep runs, seconds.
PAUSE_S = 0.1
#: Runs in one transaction.
BATCH = 64


class SweepChore:
    """A chore. Several processes may drive the same sweep: what they do derives from what is stored, and adding a run
    twice stores it once.
    """

    name = "sweeps"

    def __init__(
        self, world: World, changed: "Callable[[sweep_state.SweepState], None] | None" = None
    ) -> None:
        self._world = world
        self._changed = changed
        self._driven: dict[str, _Driven] = {}
        #: Whether a turn was completed, and the sweeps that ran then.
        self.running: frozenset[str] | None = None

    def turn(self) -> float | None:
        """Advance every running sweep; see ``Chore.turn``."""
        running = self._world.sweeps.running()
        for sweep_id in self._driven.keys() - running:
            self._close(sweep_id)
        left = set()
        for sweep_id, version in running.items():
            if self._advance(sweep_id, version):
                left.add(sweep_id)
        self.running = frozenset(left)
        return PAUSE_S if left else None

    def _advance(self, sweep_id: str, version: int) -> bool:
        """Submit what is due; whether the sweep still runs."""
        try:
            driven = self._driven.get(sweep_id)
            if driven is None or driven.sweep.version != version:
                driven = self._driven[sweep_id] = _Driven(self._world, self._world.sweeps.get(sweep_id))
            state = driven.look()
            if self._changed:
                self._changed(state)
            if state.stop or state.over:
                self._end(driven, state)
                return False
            driven.submit(state)
        except (ConflictError, NotFoundError):  # another process changed the sweep: it is read again
            self._driven.pop(sweep_id, None)
        except StoreError:
            raise
        except AnubisError as error:
            sweep = self._world.sweeps.get(sweep_id)
            sweep_actions.leave(self._world, sweep, SweepPhase.STOPPED, error.message)
            log.warning("sweep %s stopped: %s", sweep_id, error)
            return False
        return True

    def _end(self, driven: "_Driven", state: "sweep_state.SweepState") -> None:
        phase = SweepPhase.STOPPED if state.stop else SweepPhase.ENDED
        cause = Cause.BUDGET if state.spent else None
        sweep_actions.leave(self._world, driven.sweep, phase, state.stop, cause=cause)
        self._driven.pop(driven.sweep.id, None)

    def _close(self, sweep_id: str) -> None:
        """Cancel the waiting runs of a sweep that another process has paused or cancelled meanwhile."""
        del self._driven[sweep_id]
        try:
            sweep = self._world.sweeps.get(sweep_id)
        except NotFoundError:
            return
        if sweep.phase not in {SweepPhase.RUNNING, SweepPhase.ENDED}:
            sweep_actions.cancel_unfinished(self._world, sweep)


class _Driven:
    """A sweep with what is known about its runs. Final runs are read once."""

    def __init__(self, world: World, sweep: Sweep) -> None:
        self._world = world
        self.sweep = sweep
        self._cells = sweep_cells.SweepCells(sweep)
        self._positions = {
            sweep_cells.run_id_of(sweep, position): position for position in range(len(sweep.cells))
        }
        self._runs: dict[int, RunRow] = {}
        rows = sweep_actions.rows_of(world, sweep)
        self._earlier = [row for row in rows if row.id not in self._positions]
        self._note(rows)

    @property
    def _has_queue(self) -> bool:
        engine = self._world.engines.get(self.sweep.descriptor.info.execution_engine)
        return engine is not None and engine.capabilities.queue

    def look(self) -> "sweep_state.SweepState":
        """The state now."""
        open_ids = tuple(run.id for run in self._runs.values() if not run.status.final)
        if open_ids:
            self._note(self._world.runs.find(RunQuery(ids=open_ids, limit=len(open_ids))))
        return sweep_state.state_of(
            self.sweep,
            self._cells.values,
            self._runs,
            earlier=self._earlier,
            now_s=self._world.clock.now_s(),
        )

    def submit(self, state: "sweep_state.SweepState") -> None:
        """Store the next runs, as many as the limit of the sweep permits."""
        rules = self.sweep.descriptor.sweep
        limit = QUEUED if self._has_queue else (rules.max_parallel if rules else None) or AHEAD
        due = state.due[: max(0, limit - state.unfinished)]
        for start in range(0, len(due), BATCH):
            ids = sweep_actions.add_runs(self._world, self._cells, due[start : start + BATCH])
            self._note(self._world.runs.find(RunQuery(ids=ids, limit=len(ids))))

    def _note(self, rows: Iterable[RunRow]) -> None:
        for row in rows:
            if (position := self._positions.get(row.id)) is not None:
                self._runs[position] = row
