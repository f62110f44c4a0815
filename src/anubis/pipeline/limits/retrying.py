"""Further attempts of runs that failed, after a pause."""

from collections.abc import Sequence

from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.hardware import Cost
from anubis.model.run import LONGEST_PAUSE_S, Event, Run, Step
from anubis.model.status import Status


def retried(
    run: Run,
    world: World,
    cause: Cause,
    reason: str,
    *,
    events: Sequence[Event] = (),
    cost: Cost | None = None,
) -> Step | None:
    """The step that repeats a run which failed with this cause; None if its descriptor does not ask for it.

    The pause doubles with every attempt, up to ``LONGEST_PAUSE_S``. The run starts from the fetch of its data.
    """
    limits = run.descriptor.limits
    wanted = cause in limits.retry_on if limits.retry_on else cause.transient
    if run.attempt > limits.retries or not wanted or run.cancel_requested:
        return None
    pause_s = min(limits.retry_pause_s * 2.0 ** (run.attempt - 1), LONGEST_PAUSE_S)
    text = f"attempt {run.attempt + 1} of {limits.retries + 1} in {pause_s:g} s: {cause.value}"
    event = Event(
        run_id=run.id,
        kind="retried",
        time_s=world.clock.now_s(),
        message=f"{text}: {reason}" if reason else text,
        data={"cause": cause.value, "pause_s": pause_s},
    )
    return Step(
        status=Status.FETCH,
        again_after_s=pause_s,
        reason=event.message,
        events=(*events, event),
        cost=cost,
        next_attempt=True,
    )
