"""Calls of stages in the threads of a pool; every run gets an answer, also if the stage raises."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Event

from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.errors import AnubisError, ElsewhereError, NoCapacityError, StageError, StoreError
from anubis.model.run import Run, Step
from anubis.model.status import Status
from anubis.pipeline.conclusion import conclude
from anubis.pipeline.limits import needed_runs
from anubis.pipeline.limits.cancellation import cancelled
from anubis.pipeline.limits.phase_limits import overdue
from anubis.pipeline.limits.retrying import retried
from anubis.pipeline.stages import alert, analyse, collect, fetch, place, watch
from anubis.pipeline.stages.watch import LATEST_S, Pause, back_off_s

log = logging.getLogger(__name__)

#: What a stage decided, or why it could not decide: it must wait, no capacity, or the database is not available.
Answer = Step | Pause | NoCapacityError | StoreError

#: Maximum duration of one call of stage watch while no run changes, seconds.
PATIENT_S = 0.25
#: The stages that take one run, except place, which depends on how long the run has waited. Stage watch takes many.
STAGES: dict[Status, Callable[[Run, World], Step | Pause]] = {
    Status.FETCH: fetch.fetch,
    Status.COLLECT: collect.collect,
    Status.ANALYSE: analyse.analyse,
    Status.ALERT: alert.alert,
}


def ask(run: Run, world: World, waited_s: float) -> Mapping[str, Answer]:
    """The answer of the stage that is due, by run id. ``waited_s``: seconds since its phase began."""
    return {run.id: _sized(run, world, _answer(run, world, waited_s))}


def observe(
    engine: str, placed_s: Mapping[str, float], runs: Sequence[Run], world: World, stop: Event
) -> Mapping[str, Answer]:
    """The answers of stage watch for runs of one engine, by run id.

    While no run changes, it observes them repeatedly, for up to ``PATIENT_S`` seconds or until ``stop`` is set: a run
    of milliseconds is observed often, and a new call each time would switch threads as often. ``placed_s``: monotonic
    times by run id.
    """
    clock = world.clock
    end_s = clock.monotonic_s() + PATIENT_S
    next_s: dict[str, float] = dict.fromkeys(placed_s, 0.0)
    while True:
        now_s = clock.monotonic_s()
        waited_s = {run_id: now_s - at_s for run_id, at_s in placed_s.items()}
        answers = _look([run for run in runs if next_s[run.id] <= now_s], engine, world, waited_s)
        now_s = clock.monotonic_s()
        for run_id in [run_id for run_id, answer in answers.items() if answer == Pause()]:
            next_s[run_id] = now_s + back_off_s(now_s - placed_s[run_id])
            del answers[run_id]
        soonest_s = min(next_s.values())
        if answers or soonest_s > end_s or stop.is_set():
            pauses = {run_id: Pause(again_after_s=max(0.0, at_s - now_s)) for run_id, at_s in next_s.items()}
            return pauses | answers
        clock.wait(stop, soonest_s - now_s)


def _look(runs: Sequence[Run], engine: str, world: World, waited_s: Mapping[str, float]) -> dict[str, Answer]:
    try:
        answers = watch.watch(engine, runs, world, waited_s)
        by_id = {run.id: run for run in runs}
        return {run_id: _sized(by_id[run_id], world, answer) for run_id, answer in answers.items()}
    except BaseException:  # also SystemExit from a plug-in
        log.exception("cannot watch the runs of engine %s", engine)
        return {run.id: Pause(again_after_s=LATEST_S) for run in runs}


def _answer(run: Run, world: World, waited_s: float) -> Answer:
    try:
        if run.cancel_requested and run.status in {Status.FETCH, Status.PLACE}:
            return _call_off(run, world)
        if needed_runs.is_waiting(run) and (step := needed_runs.wait(run, world, waited_s)):
            return step
        if run.status is Status.PLACE:
            return place.place(run, world, waited_s)
        if run.status is Status.FETCH:
            return _fetch(run, world, waited_s)
        return STAGES[run.status](run, world)
    except ElsewhereError:
        return Pause(elsewhere=True)
    except (NoCapacityError, StoreError) as error:
        return error
    except StageError as error:
        return fail(run, world, error.cause, str(error))
    except AnubisError as error:
        return fail(run, world, Cause.USER_ERROR, str(error))
    except BaseException as error:  # also SystemExit from a plug-in; only this run fails
        log.exception("stage %s of run %s failed", run.status, run.id)
        return fail(run, world, Cause.INTERNAL, f"{type(error).__name__}: {error}")


def _sized(run: Run, world: World, answer: Answer) -> Answer:
    """The answer, with the size of the records of all attempts if it is the last one; None if they cannot be listed now."""
    if not isinstance(answer, Step) or not answer.status.final:
        return answer
    try:
        files = [
            each for attempt in world.records.attempts(run.id) for each in world.records.list(run.id, attempt)
        ]
    except (OSError, AnubisError) as error:
        log.warning("the size of the record of run %s is not known: %s", run.id, error)
        return answer
    return replace(answer, record_bytes=sum(each.size_bytes for each in files))


def _fetch(run: Run, world: World, waited_s: float) -> Step | Pause:
    """The answer of stage fetch. Raises StageError if the fetch takes too long."""
    answer = STAGES[Status.FETCH](run, world)
    is_fetching = not isinstance(answer, Step) or answer.status is Status.FETCH
    if is_fetching and (failure := overdue(run, waited_s, run.reason)):
        raise failure
    return answer


def fail(run: Run, world: World, cause: Cause, reason: str) -> Step:
    """The step of a run that cannot continue: the next attempt if its limits permit one.

    A failed run is analysed too, unless stage analyse or alert failed.
    """
    if run.status in {Status.ANALYSE, Status.ALERT}:
        return conclude(run, world.clock.now_s(), cause, reason)
    again = retried(run, world, cause, reason) if run.status in {Status.FETCH, Status.PLACE} else None
    if again is None:
        return Step(status=Status.ANALYSE, cause=cause, reason=reason)
    return _placed_already(run, world) or again


def _call_off(run: Run, world: World) -> Step:
    """Cancel a run before its placement. If a reconciler placed it and died, the placement is watched until it ends.

    Otherwise the attempt is revoked: a reconciler that is stopped while it places the run cannot start it later.
    """
    if placed := _placed_already(run, world):
        return placed
    cause, reason = cancelled(run, world, "cancelled before it started")
    return conclude(run, world.clock.now_s(), cause, reason)


def _placed_already(run: Run, world: World) -> Step | None:
    """The step that watches an attempt which another reconciler has placed; None: it can never start from now on."""
    engine = world.engines.get(run.engine)
    if run.status is Status.PLACE and engine and not engine.revoke(run):
        return Step(status=Status.WATCH, placement=engine.placed(run))
    return None
