"""Runs that wait for other runs, before their first stage."""

from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.errors import NotFoundError
from anubis.model.run import Run, Step
from anubis.model.status import Phase, Status
from anubis.pipeline.conclusion import conclude

#: A waiting run becomes due when a run that it needs is final. It is also looked at after this share of the time that it has
#: waited, within these bounds (seconds), because the two can happen at the same time.
SHARE, SOONEST_S, LATEST_S = 0.25, 1.0, 60.0
_FIRST = {Status.FETCH: Phase.FETCH, Status.PLACE: Phase.QUEUE}


def is_waiting(run: Run) -> bool:
    """Whether the run may have to wait for other runs: it has needs and has not begun."""
    return bool(run.needs) and run.status in _FIRST and run.phase in {None, Phase.NEEDS} and run.attempt == 1


def wait(run: Run, world: World, waited_s: float) -> Step | None:
    """The step of a run that waits for others, or can never start; None: it can start now."""
    waiting: list[str] = []
    for run_id in run.needs:
        try:
            needed = world.runs.get(run_id)
        except NotFoundError:
            return _given_up(run, world, f"run {run_id}, which it needs, was purged")
        if needed.status in {Status.FAILED, Status.CANCELLED}:
            about = f" ({needed.cause.value})" if needed.cause else ""
            name = needed.descriptor.info.name
            return _given_up(
                run, world, f"{name}, which it needs, has ended as {needed.status.value}{about}: run {run_id}"
            )
        if needed.status is not Status.SUCCEEDED:
            waiting.append(f"{needed.descriptor.info.name} ({run_id})")
    if waiting:
        more = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
        again_after_s = min(max(SHARE * waited_s, SOONEST_S), LATEST_S)
        return Step(
            status=run.status,
            phase=Phase.NEEDS,
            reason=f"waits for {waiting[0]}{more}",
            again_after_s=again_after_s,
        )
    if run.phase is Phase.NEEDS:  # the limits of the next phase count from now
        return Step(
            status=run.status, phase=_FIRST[run.status], reason="the runs that it needs have succeeded"
        )
    return None


def _given_up(run: Run, world: World, reason: str) -> Step:
    return conclude(run, world.clock.now_s(), Cause.NEED, reason)
