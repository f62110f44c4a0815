"""Sweeps of this installation."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from anubis.client.embedded import submission
from anubis.client.embedded.driving import drive_sweep
from anubis.client.protocol import sweeps as protocol
from anubis.contracts.sweeps import Sweep, SweepPhase
from anubis.describe.drafting import DescriptorText
from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.errors import ConflictError, NotFoundError
from anubis.model.problem import Problem
from anubis.submission import script_archive
from anubis.submission.person import person
from anubis.suites import sweep_actions, sweep_plan, sweep_state
from anubis.suites.sweep_cells import SweepCells
from anubis.wiring import Installation

_LAST = "@last"
#: Attempts to change a sweep that its drivers change at the same time.
_ATTEMPTS = 20


class Sweeps(protocol.Sweeps):
    """``Sweeps`` (see the protocol) in the database of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._world = installation.world

    def plan(
        self,
        file: Path | DescriptorText,
        *,
        overrides: Mapping[str, str] | None = None,
        script: Path | str | None = None,
        stores_script: bool = True,
        max_parallel: int | None = None,
        warned: Callable[[Path, Problem], None] | None = None,
        overlays: Sequence[Path] = (),
    ) -> Sweep:
        settings = self._installation.settings
        if isinstance(script, Path) and not stores_script:
            script, _ = script_archive.archive(script)
        return sweep_plan.plan(
            file,
            self._world,
            overrides=overrides or {},
            owner=person(settings),
            default_engine=settings.engine,
            script=submission.stored_script(self._installation, script),
            max_parallel=max_parallel,
            warned=warned,
            overlays=overlays,
            project=settings.project or DEFAULT_PROJECT,
        )

    def cells(self, sweep: Sweep) -> Sequence[protocol.SweepCell]:
        cells = SweepCells(sweep)
        found = []
        for position, values in enumerate(cells.values):
            descriptor = cells.descriptor(position)
            cell = protocol.SweepCell(
                values=values,
                digest=sweep.cells[position],
                engine=descriptor.info.execution_engine,
                instance_type=descriptor.hardware.instance_type,
                executions=descriptor.measure.most_executions,
            )
            found.append(cell)
        return found

    def start(self, sweep: Sweep) -> Sweep:
        return sweep_actions.start(self._world, sweep)

    def wait(
        self, ref: str, changed: Callable[[sweep_state.SweepState], None] | None = None
    ) -> sweep_state.SweepState:
        sweep_id = self.get(ref).id
        drive_sweep(self._installation, sweep_id, changed)
        return self.state(sweep_id)

    def get(self, ref: str) -> Sweep:
        sweeps = self._world.sweeps
        if ref == _LAST:
            newest = sweeps.find(limit=1)
            if not newest:
                raise NotFoundError("there is no sweep", remedy="start one with anubis sweep run FILE")
            return newest[0]
        try:
            return sweeps.get(ref)
        except NotFoundError as error:
            try:
                family = self._world.runs.get(ref).family_id
                return sweeps.get(family or "")
            except NotFoundError:
                raise error from None

    def find(self, *, limit: int = 100) -> Sequence[Sweep]:
        return self._world.sweeps.find(limit=limit)

    def state(self, ref: str) -> sweep_state.SweepState:
        sweep = self.get(ref)
        runs = sweep_actions.current_runs(self._world, sweep)
        earlier = sweep_actions.earlier_runs(self._world, sweep)
        return sweep_state.state_of(sweep, SweepCells(sweep).values, runs, earlier=earlier)

    def pause(self, ref: str, *, why: str = "") -> Sweep:
        return self._leave(ref, SweepPhase.PAUSED, why)

    def cancel(self, ref: str, *, why: str = "") -> Sweep:
        return self._leave(ref, SweepPhase.CANCELLED, why)

    def _leave(self, ref: str, phase: SweepPhase, why: str) -> Sweep:
        actor = person(self._installation.settings)

        def leave(sweep: Sweep) -> Sweep:
            if phase is SweepPhase.PAUSED and sweep.phase is not SweepPhase.RUNNING:
                return sweep
            if sweep.phase is SweepPhase.ENDED:
                return sweep
            return sweep_actions.leave(self._world, sweep, phase, why, actor=actor)

        return self._changed(ref, leave)

    def resume(self, ref: str) -> Sweep:
        return self._changed(ref, lambda sweep: sweep_actions.resume(self._world, sweep))

    def retry(self, ref: str, causes: Collection[str]) -> tuple[Sweep, int]:
        repeated = 0

        def retry(sweep: Sweep) -> Sweep:
            nonlocal repeated
            changed, repeated = sweep_actions.retry(self._world, sweep, causes)
            return changed

        return self._changed(ref, retry), repeated

    def _changed(self, ref: str, change: Callable[[Sweep], Sweep]) -> Sweep:
        """Change a sweep, again if a driver changed it at the same time."""
        sweep = self.get(ref)
        for _ in range(_ATTEMPTS):
            try:
                return change(sweep)
            except ConflictError:
                sweep = self._world.sweeps.get(sweep.id)
        return change(sweep)
