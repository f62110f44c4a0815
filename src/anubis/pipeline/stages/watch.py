"""Stage watch: observes all placements of an engine with one call, with back-off."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anubis.contracts.engine import Engine
from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.errors import PlugInError
from anubis.model.run import Event, Observation, Run, Seen, Step, phase_of
from anubis.model.status import Phase, Status
from anubis.pipeline.conclusion import conclude
from anubis.pipeline.limits.cancellation import cancelled
from anubis.pipeline.limits.phase_limits import QUEUED_AFTER_S, stop, timeout_s
from anubis.pipeline.limits.retrying import retried

log = logging.getLogger(__name__)

#: Interval between observations: this share of the time since placement, within the bounds below (seconds).
BACK_OFF = 0.05
SOONEST_S = 0.005
LATEST_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The answer that leaves a run unchanged and observes it again later."""

    #: Seconds; None: by ``back_off_s``.
    again_after_s: float | None = None
    #: The placement is not visible here: a reconciler on another machine must drive the run.
    elsewhere: bool = False


def watch(
    engine_name: str, runs: Sequence[Run], world: World, waited_s: Mapping[str, float]
) -> Mapping[str, Step | Pause]:
    """The decision about each run of an engine, by run id. An error about one run does not affect the others.

    ``waited_s``: seconds since the phase of each run began.
    """
    try:
        engine = world.engine(engine_name)
    except PlugInError as error:
        return {run.id: _without_engine(run, world, error.message) for run in runs}
    for run in runs:
        if run.placement and (run.cancel_requested or run.cause):
            try:
                engine.cancel(run.placement)
            except Exception:  # repeated at the next observation
                log.exception("engine %s did not cancel run %s", engine_name, run.id)
    known = _observe(engine, runs)
    answers: dict[str, Step | Pause] = {run.id: Pause(again_after_s=LATEST_S) for run in runs}
    for run, seen in known:
        try:
            answers[run.id] = _judge(run, seen, engine, world, waited_s[run.id])
        except Exception:
            log.exception("cannot judge the state of run %s", run.id)
    return answers


def _observe(engine: Engine, runs: Sequence[Run]) -> list[tuple[Run, Mapping[str, Observation]]]:
    """Each run with the engine's observations. A run about which the engine does not answer is left out: its state is
    unknown. If the bulk query fails, each run is observed separately, because one of them may be the reason.
    """
    try:
        seen = engine.observe([run.placement for run in runs if run.placement])
    except Exception:
        log.exception("engine %s did not answer", engine.name)
    else:
        return [(run, seen) for run in runs]
    if len(runs) == 1:
        return []
    return [answer for run in runs for answer in _observe(engine, [run])]


def back_off_s(age_s: float) -> float:
    """Seconds until a placement of this age is observed again."""
    return min(max(BACK_OFF * age_s, SOONEST_S), LATEST_S)


def _without_engine(run: Run, world: World, reason: str) -> Step | Pause:
    """The answer for a run whose engine cannot be loaded: it waits until the engine is back or it is cancelled."""
    if run.cancel_requested:
        cause, reason = cancelled(run, world, f"cancelled without its engine: {reason}")
        return conclude(run, world.clock.now_s(), cause, reason)
    if run.reason == reason:
        return Pause(again_after_s=LATEST_S)
    return Step(status=Status.WATCH, reason=reason, again_after_s=LATEST_S)


def _judge(
    run: Run, seen: Mapping[str, Observation], engine: Engine, world: World, waited_s: float
) -> Step | Pause:
    observation = seen.get(run.placement.name) if run.placement else None
    if run.placement is None or observation is None:
        return Pause(elsewhere=True)
    now_s = world.clock.now_s()
    if observation.seen in {Seen.ENDED, Seen.LOST}:
        return _ended(run, observation, now_s)
    if observation.seen is Seen.WAITING:
        max_wait_s = timeout_s(run, Phase.QUEUE)
        if max_wait_s is not None and waited_s > max_wait_s:
            engine.cancel(run.placement)
            reason = f"no machine after {max_wait_s:g} s: {observation.reason}"
            return retried(run, world, Cause.NO_CAPACITY, reason) or conclude(
                run, now_s, Cause.NO_CAPACITY, reason
            )
    elif run.cause is None and run.phase is not Phase.QUEUE and (stopped := stop(run, world, waited_s)):
        return stopped
    return _noted(run, observation, waited_s)


def _noted(run: Run, observation: Observation, waited_s: float) -> Step | Pause:
    """What is new about a placement that has not ended: its phase, or its reason."""
    phase = phase_of(run)
    if observation.seen is Seen.RUNNING:
        phase = Phase.RUN
    elif waited_s > QUEUED_AFTER_S:
        phase = Phase.QUEUE
    reason = "" if run.cause else observation.reason
    if phase is phase_of(run) and (not reason or reason == run.reason):
        return Pause()
    return Step(status=Status.WATCH, phase=phase, reason=reason, again_after_s=SOONEST_S)


def _ended(run: Run, observation: Observation, now_s: float) -> Step:
    lost = observation.seen is Seen.LOST
    data = {"exit_code": observation.exit_code, "queued_s": observation.queued_s}
    waited = "" if observation.queued_s is None else f"{observation.queued_s:.1f} s in the queue"
    event = Event(
        run_id=run.id,
        kind="lost" if lost else "ended",
        time_s=now_s,
        message="; ".join(filter(None, (observation.reason, waited))),
        data={name: value for name, value in data.items() if value is not None},
    )
    cause = Cause.LOST if lost else observation.cause
    reason = run.reason if run.cause else observation.reason
    return Step(status=Status.COLLECT, cause=run.cause or cause, reason=reason, events=(event,))
