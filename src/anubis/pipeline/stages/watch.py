"""Stage watch: each engine is asked once about all its placements, with back-off."""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.errors import PlugInError
from anubis.model.run import Event, Observation, Run, Seen, Step
from anubis.model.status import Status
from anubis.pipeline.conclusion import conclude

log = logging.getLogger(__name__)

#: The next look comes after this share of the time since placement, within the bounds below (seconds).
BACK_OFF = 0.05
SOONEST_S = 0.005
LATEST_S = 1.0


@dataclass(frozen=True, slots=True)
class Look:
    """What watching decided about one run: a step, or nothing but when to look again."""

    step: Step | None
    again_after_s: float = 0.0
    #: It cannot be seen from here.
    elsewhere: bool = False


def watch(runs: Sequence[Run], world: World) -> Mapping[str, Look]:
    """One look at each run, by run id."""
    by_engine: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_engine[run.engine].append(run)
    looks: dict[str, Look] = {}
    for name, placed in by_engine.items():
        try:
            engine = world.engine(name)
        except PlugInError as error:
            looks |= {run.id: _without_engine(run, world, error.message) for run in placed}
            continue
        try:
            for run in placed:
                if run.cancel_requested and run.placement:
                    engine.cancel(run.placement)
            seen = engine.observe([run.placement for run in placed if run.placement])
        except Exception:  # an engine that does not answer is unknown, not gone
            log.exception("engine %s did not answer", name)
            looks |= {run.id: Look(None, LATEST_S) for run in placed}
            continue
        for run in placed:
            if run.placement:
                observation = seen.get(run.placement.name)
                looks[run.id] = _look(run, observation, world) if observation else Look(None, elsewhere=True)
    return looks


def _without_engine(run: Run, world: World, reason: str) -> Look:
    """The placement cannot be seen here. The run waits, with the reason, until the engine is back or it is cancelled."""
    if run.cancel_requested:
        return Look(conclude(run, world.clock.now_s(), Cause.CANCELLED, f"cancelled unseen: {reason}"))
    if run.reason == reason:
        return Look(None, LATEST_S)
    return Look(Step(status=Status.WATCH, reason=reason, again_after_s=LATEST_S))


def _look(run: Run, observation: Observation, world: World) -> Look:
    now_s = world.clock.now_s()
    if observation.seen in {Seen.ENDED, Seen.LOST}:
        lost = observation.seen is Seen.LOST
        event = Event(
            run_id=run.id,
            kind="lost" if lost else "ended",
            time_s=now_s,
            message=observation.reason,
            data={} if observation.exit_code is None else {"exit_code": observation.exit_code},
        )
        cause = Cause.LOST if lost else observation.cause
        return Look(Step(status=Status.COLLECT, cause=cause, reason=observation.reason, events=(event,)))
    waited_s = now_s - (run.placed_s or now_s)
    max_wait_s = run.descriptor.hardware.max_wait_s
    if (
        observation.seen is Seen.WAITING
        and max_wait_s is not None
        and waited_s > max_wait_s
        and run.placement
    ):
        world.engines[run.engine].cancel(run.placement)
        reason = f"no machine after {max_wait_s:g} s: {observation.reason}"
        return Look(conclude(run, now_s, Cause.NO_CAPACITY, reason))
    if observation.reason and observation.reason != run.reason:
        return Look(Step(status=Status.WATCH, reason=observation.reason, again_after_s=SOONEST_S))
    return Look(None, min(max(BACK_OFF * waited_s, SOONEST_S), LATEST_S))
