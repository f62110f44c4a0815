"""Timeouts of the phases of a run."""

from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.errors import StageError
from anubis.model.run import Event, Run, Step, phase_of
from anubis.model.status import Phase, Status
from anubis.pipeline.limits.costs import overspent

#: A placement that waits longer than this is in the queue of its engine: its agent would have started before, seconds.
QUEUED_AFTER_S = 1.0

_CAUSES = {
    Phase.FETCH: (Cause.FETCH_TIMEOUT, "its data were not complete"),
    Phase.QUEUE: (Cause.NO_CAPACITY, "no machine"),
    Phase.START: (Cause.START_TIMEOUT, "its machine was not ready"),
}


def timeout_s(run: Run, phase: Phase | None) -> float | None:
    """The limit of a phase of this run, seconds; None: none."""
    limits = run.descriptor.limits
    match phase:
        case Phase.FETCH:
            return limits.fetch_timeout_s
        case Phase.QUEUE:
            return run.descriptor.hardware.max_wait_s
        case Phase.START:
            return limits.start_timeout_s
        case Phase.RUN:
            return limits.run_timeout_s
    return None


def overdue(run: Run, waited_s: float, reason: str = "") -> StageError | None:
    """The failure of a run that is not placed and whose phase has lasted too long; None: it has not.

    ``waited_s``: seconds since the phase began. ``reason``: what the run waits for.
    """
    phase = phase_of(run)
    limit_s = timeout_s(run, phase)
    if phase not in _CAUSES or limit_s is None or waited_s <= limit_s:
        return None
    cause, text = _CAUSES[phase]
    return StageError(f"{text} after {limit_s:g} s{f': {reason}' if reason else ''}", cause=cause)


def stop(run: Run, world: World, waited_s: float) -> Step | None:
    """The step that stops a run whose executions take too long or cost too much; None: it continues.

    The step stores the cause. The agent ends as after a cancellation, so that its record is complete, and the run with this cause.
    """
    limit_s = timeout_s(run, Phase.RUN)
    if limit_s is not None and waited_s > limit_s:
        cause, reason = Cause.RUN_TIMEOUT, f"not ended {limit_s:g} s after its placement"
    elif spent := overspent(run, world, waited_s):
        cause, reason = Cause.MAX_COST, spent
    else:
        return None
    event = Event(
        run_id=run.id,
        kind="stopped",
        time_s=world.clock.now_s(),
        message=reason,
        data={"cause": cause.value},
    )
    return Step(status=Status.WATCH, cause=cause, reason=reason, events=(event,))
