"""What users and drivers do with a sweep: start it, add its runs, leave or enter a phase, repeat cells."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from anubis.contracts.environments import SubmittedEnvironment
from anubis.contracts.runs import RunQuery, RunRow
from anubis.contracts.sweeps import Sweep, SweepPhase
from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.descriptor import Descriptor
from anubis.model.errors import BadInputError
from anubis.model.run import CANCEL_EVENT, Event, Seen
from anubis.model.status import Status
from anubis.submission.environment import adding
from anubis.suites.sweep_cells import SweepCells, run_id_of

#: More runs than a sweep has.
_ALL = 1_000_000
#: Statuses of runs that are submitted but not placed.
_WAITING = {Status.FETCH, Status.PLACE}


def start(world: World, sweep: Sweep) -> Sweep:
    """Store a new sweep with the environment of this process. Its runs are added while it is driven.

    Raises BadInputError if the environment of a cell cannot be provided.
    """
    cells = SweepCells(sweep)
    handed = _environment(
        world, sweep.project, [cells.descriptor(position) for position in range(len(sweep.cells))]
    )
    world.environments.hand_over([sweep.id], handed)
    try:
        return world.sweeps.put(sweep)
    except BaseException:
        world.environments.remove([sweep.id])
        raise


def _environment(world: World, project: str, descriptors: Sequence[Descriptor]) -> SubmittedEnvironment:
    """The environment of all cells: with the variables and secrets that any of them needs."""
    variables: dict[str, str] = {}
    secrets: dict[str, str] = {}
    for descriptor in descriptors:
        each = world.environments.current(descriptor, project)
        variables |= each.variables
        secrets |= each.secrets
    return SubmittedEnvironment(variables=variables, secrets=secrets)


def add_runs(world: World, cells: SweepCells, positions: Sequence[int]) -> tuple[str, ...]:
    """Store the runs of these cells in one transaction, unless they are stored; their ids."""
    made = [cells.run(position, world.clock.now_s()) for position in positions]
    runs, events = [run for run, _ in made], [event for _, event in made]
    adding.add(world, runs, events, environment=world.environments.handed_over(cells.sweep.id))
    return tuple(run.id for run, _ in runs)


def rows_of(world: World, sweep: Sweep) -> Sequence[RunRow]:
    """All stored runs of the family, of earlier tries too, in the order of their submission."""
    return world.runs.find(RunQuery(family_id=sweep.id, limit=_ALL, newest_first=False))


def current_runs(world: World, sweep: Sweep) -> dict[int, RunRow]:
    """Position -> the run of the current try, of the cells that are submitted."""
    by_id = {row.id: row for row in rows_of(world, sweep)}
    ids = {position: run_id_of(sweep, position) for position in range(len(sweep.cells))}
    return {position: by_id[run_id] for position, run_id in ids.items() if run_id in by_id}


def earlier_runs(world: World, sweep: Sweep) -> Sequence[RunRow]:
    """The runs of earlier tries."""
    current = {run_id_of(sweep, position) for position in range(len(sweep.cells))}
    return [row for row in rows_of(world, sweep) if row.id not in current]


def leave(
    world: World,
    sweep: Sweep,
    phase: SweepPhase,
    reason: str = "",
    *,
    cause: Cause | None = None,
    actor: str = "",
) -> Sweep:
    """End the running phase: no further cells are submitted, and waiting runs are cancelled.

    In phase ``cancelled``, and if a limit is the ``cause``, all runs are cancelled.

    Raises ConflictError if another process changed the sweep.
    """
    left = world.sweeps.put(replace(sweep, phase=phase, reason=reason, cause=cause))
    if phase is not SweepPhase.ENDED:
        cancel_unfinished(world, left, actor=actor)
    else:
        world.environments.remove([sweep.id])
    return left


def cancel_unfinished(world: World, sweep: Sweep, *, actor: str = "") -> None:
    """Request the cancellation of the runs that are not placed yet; see ``leave`` for those that run."""
    everything = sweep.phase is SweepPhase.CANCELLED or sweep.cause is not None
    rows = [row for row in rows_of(world, sweep) if not row.status.final]
    if not everything:
        queued = _queued(world, rows)
        rows = [row for row in rows if row.status in _WAITING or row.id in queued]
    now_s, why = world.clock.now_s(), f"the sweep is {sweep.phase.value}"
    data = {} if sweep.cause is None else {"cause": sweep.cause.value}
    why = why if sweep.cause is None else f"{why}: {sweep.reason}"
    events = [
        Event(run_id=row.id, kind=CANCEL_EVENT, time_s=now_s, message=why, actor=actor, data=data)
        for row in rows
    ]
    asked = world.runs.request_cancel([row.id for row in rows], events)
    for run_id in asked:
        run = world.runs.get(run_id)
        if run.placement and (engine := world.engines.get(run.engine)):
            engine.cancel(run.placement)


def _queued(world: World, rows: Sequence[RunRow]) -> set[str]:
    """The runs of these that wait in the queue of their engine."""
    found: set[str] = set()
    for name in {row.engine for row in rows}:
        engine = world.engines.get(name)
        if engine is None or not engine.capabilities.queue:
            continue
        runs = [world.runs.get(row.id) for row in rows if row.engine == name and row.status is Status.WATCH]
        placements = {run.placement.name: run.id for run in runs if run.placement}
        seen = engine.observe([run.placement for run in runs if run.placement])
        found |= {placements[each] for each, what in seen.items() if what.seen is Seen.WAITING}
    return found


def resume(world: World, sweep: Sweep) -> Sweep:
    """Run the missing cells: those that were not submitted, and those that were cancelled or will be.

    After a stop by the rule about failures, the failed cells too. A running sweep is returned as it is.
    """
    if sweep.phase is SweepPhase.RUNNING:
        return sweep
    _refuse_spent(sweep)
    again = {Status.CANCELLED}
    if sweep.phase is SweepPhase.STOPPED:
        again.add(Status.FAILED)
    runs = current_runs(world, sweep)
    left = [place for place, run in runs.items() if run.status in again or _is_cancelled_soon(world, run)]
    return _run_again(world, sweep, left)


def _is_cancelled_soon(world: World, run: RunRow) -> bool:
    """Whether the pause of the sweep cancels the run: a driver may do that later."""
    return not run.status.final and world.runs.get(run.id).cancel_requested


def retry(world: World, sweep: Sweep, causes: Collection[str]) -> tuple[Sweep, int]:
    """Repeat the cells that failed with one of these causes; the sweep and the number of the cells.

    Raises BadInputError if there are none.
    """
    _refuse_spent(sweep)
    runs = current_runs(world, sweep)
    failed = {place: run for place, run in runs.items() if run.status is Status.FAILED}
    chosen = [place for place, run in failed.items() if run.cause in causes]
    if not chosen:
        found = ", ".join(sorted({run.cause or "" for run in failed.values()}))
        raise BadInputError(
            f"no cell of sweep {sweep.id} failed with one of the chosen causes; cells failed with: {found}"
            if found
            else f"no cell of sweep {sweep.id} failed",
            remedy="by default only transient causes are repeated; name others with --cause, or use --all"
            if found
            else "anubis sweep resume runs cells that are missing or cancelled",
        )
    return _run_again(world, sweep, chosen), len(chosen)


def _refuse_spent(sweep: Sweep) -> None:
    """Raise BadInputError if no cell can be run within the budget of the sweep."""
    if sweep.cause is not None:
        raise BadInputError(f"sweep {sweep.id} stopped: {sweep.reason}", remedy=sweep.cause.remedy)


def _run_again(world: World, sweep: Sweep, positions: Sequence[int]) -> Sweep:
    if world.environments.handed_over(sweep.id) is None:
        cells = SweepCells(sweep)
        every = [cells.descriptor(position) for position in range(len(sweep.cells))]
        world.environments.hand_over([sweep.id], _environment(world, sweep.project, every))
    tries = {str(place): sweep.tries.get(str(place), 1) + 1 for place in positions}
    return world.sweeps.put(
        replace(sweep, phase=SweepPhase.RUNNING, reason="", cause=None, tries={**sweep.tries, **tries})
    )
