"""Stage collect: reads samples and points from the record, and determines the cause of a failure."""

import logging
from collections.abc import Iterator, Sequence

from anubis.contracts.records import RecordKey, RoleFiles
from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.descriptor import OnContamination
from anubis.model.errors import ElsewhereError
from anubis.model.hardware import Cost
from anubis.model.metric import Metric
from anubis.model.points import Period, SampleBlock
from anubis.model.run import (
    MISSING_EVENT,
    NOT_STEADY_EVENT,
    REJECTED_EVENT,
    WARM_EVENT,
    Event,
    Observation,
    Placement,
    Run,
    Seen,
    Step,
)
from anubis.model.status import Status
from anubis.pipeline.limits.cancellation import cancelled
from anubis.pipeline.limits.costs import attempt_cost
from anubis.pipeline.limits.retrying import retried
from anubis.pipeline.rank_values import Values, together, values_of
from anubis.pipeline.record_result import damaged, result_of
from anubis.pipeline.run_data import fingerprint_of
from anubis.pipeline.summarise import Measured, points_of
from anubis.record.reading import Execution, Record
from anubis.record.validation import DamagedError

log = logging.getLogger(__name__)

#: With less free space than this on the disk of the agent (bytes), an incomplete extraction counts as a full disk.
ROOM_TO_EXTRACT = 1 << 20
#: Pause after an engine did not answer, seconds.
AGAIN_AFTER_S = 1.0
#: Maximum number of placements if disturbed repeats are measured again.
MOST_ATTEMPTS = 3
#: Reason in metrics.json for a step that is not valid; its value is recorded.
BAD_STEP = "bad step"


def collect(run: Run, world: World) -> Step:
    """Read the record of the agent. Samples are stored also if the run failed; points only if it succeeded."""
    observed = _observed(run, run.placement, world) if run.placement else None
    if isinstance(observed, Step):
        return observed
    record = Record(RoleFiles(world.records, RecordKey(run.id, run.attempt)))
    cause, reason = _cause(run, record, world, observed)
    cost = attempt_cost(run, record, world)
    found = values_of(run, world.records)
    blocks = found.blocks
    if cause is None and (failure := _not_complete(run, record, found)):
        cause, reason = failure
    try:
        measured = together(_all_measured(record), [_all_measured(rank) for rank in found.ranks])
    except DamagedError as error:  # of the telemetry
        measured = []
        cause, reason = cause or Cause.RECORD_DAMAGED, reason or damaged(str(error)).reason
    events = [_contaminated(run, one, world) for one in measured if one.disturbances]
    if cause is None and any(one.disturbances for one in measured):
        policy = run.descriptor.measure.on_contamination
        if policy is OnContamination.VOID and run.attempt < MOST_ATTEMPTS:
            return _again(run, world, events, cost)
        if policy is OnContamination.VOID:
            measured = [one for one in measured if not one.disturbances]
        if policy is OnContamination.FAIL or not measured:
            cause, reason = (
                Cause.CONTAMINATED,
                "the machine was disturbed: " + "; ".join(_disturbances(record)),
            )
    events += [
        *_rejected(run, record, world),
        *_missing_conditions(run, record, world),
        *_warm_up(run, record, world),
    ]
    if cause is not None and (again := retried(run, world, cause, reason, events=events, cost=cost)):
        return again
    points = []
    if cause is None:
        points = points_of(run, blocks, measured, fingerprint_of(run, record), reduced=found.reduced)
    return Step(
        status=Status.ANALYSE,
        cause=cause,
        reason=reason,
        samples=tuple(blocks),
        points=tuple(points),
        period=_period(record),
        cost=cost,
        events=tuple(events),
    )


def _period(record: Record) -> Period | None:
    """When and where the benchmark was executed, warm-ups included; None if it was not."""
    if not record.executions:
        return None
    return Period(
        machine=record.machine,
        start_s=min(execution.started_s for execution in record.executions),
        end_s=max(execution.ended_s for execution in record.executions),
    )


def _observed(run: Run, placement: Placement, world: World) -> Observation | Step:
    """What the engine sees, or the pause of a run whose engine does not answer.

    Raises ElsewhereError if the record is not on this machine.
    """
    engine = world.engines.get(run.engine)
    try:
        observed = engine.observe([placement]).get(placement.name) if engine is not None else None
    except Exception:  # as in stage watch: an engine that does not answer must not lose the measurements
        log.exception("engine %s did not answer", run.engine)
        return Step(status=Status.COLLECT, again_after_s=AGAIN_AFTER_S)
    if observed is None:
        raise ElsewhereError(f"the record of run {run.id} is not on this machine")
    return observed


def _rejected(run: Run, record: Record, world: World) -> list[Event]:
    """One event for each metric with values that were not recorded, such as nan."""
    events = []
    for name, counters in record.metrics.items():
        rejected = {why: count for why, count in counters.get("rejected", {}).items() if why != BAD_STEP}
        if not rejected:
            continue
        count = sum(rejected.values())
        counts = ", ".join(f"{number} {why}" for why, number in rejected.items())
        # The example may be a step if steps were rejected, too.
        is_value = BAD_STEP not in counters["rejected"]
        example = f"; the first: {counters.get('rejected_example')!r}" if is_value else ""
        message = f"{count} value{'s' * (count != 1)} of {name} not recorded: {counts}{example}"
        data = {"metric": name, "count": count}
        events.append(
            Event(run_id=run.id, kind=REJECTED_EVENT, time_s=world.clock.now_s(), message=message, data=data)
        )
    return events


def _missing_conditions(run: Run, record: Record, world: World) -> Iterator[Event]:
    """One event for each condition of the descriptor that did not apply."""
    for name, why in record.missing_conditions.items():
        yield Event(
            run_id=run.id,
            kind=MISSING_EVENT,
            time_s=world.clock.now_s(),
            message=f"measure.{name} did not apply: {why}",
            data={"condition": name},
        )


def _warm_up(run: Run, record: Record, world: World) -> Iterator[Event]:
    """The event about a warm-up of automatic length; none if the run failed during it."""
    warm_up = record.warm_up
    if warm_up is not None:
        yield Event(
            run_id=run.id,
            kind=WARM_EVENT if warm_up.is_steady else NOT_STEADY_EVENT,
            time_s=world.clock.now_s(),
            message=warm_up.text,
            data={"executions": warm_up.executions, "attempt": run.attempt},
        )


def _again(run: Run, world: World, events: Sequence[Event], cost: Cost | None) -> Step:
    """Void all values and measure again in a new placement."""
    reason = f"the machine was disturbed; attempt {run.attempt + 1} of {MOST_ATTEMPTS}"
    voided = Event(run_id=run.id, kind="voided", time_s=world.clock.now_s(), message=reason)
    return Step(status=Status.PLACE, reason=reason, events=(*events, voided), cost=cost, next_attempt=True)


def _disturbances(record: Record) -> list[str]:
    return sorted({text for execution in record.executions for text in record.disturbances(execution)})


def _contaminated(run: Run, one: Measured, world: World) -> Event:
    return Event(
        run_id=run.id,
        kind="contaminated",
        time_s=world.clock.now_s(),
        message="; ".join(one.disturbances),
        data={"repeat": one.repeat, "attempt": run.attempt},
    )


def _cause(run: Run, record: Record, world: World, observed: Observation | None) -> tuple[Cause | None, str]:
    """Cause and reason of a failure; of a cancelled run, those of the request."""
    cause, reason = _found_cause(run, record, observed)
    if cause is Cause.CANCELLED and run.cancel_requested:
        return cancelled(run, world, reason)
    return cause, reason


def _found_cause(run: Run, record: Record, observed: Observation | None) -> tuple[Cause | None, str]:
    """Cause and reason of a failure according to the record, or to what was observed if it does not contain them."""
    #: The engine has not lost the agent, but knows that another part of the run was lost.
    part_lost = observed is not None and (observed.seen, observed.cause) == (Seen.ENDED, Cause.LOST)
    if run.cause is Cause.RECORD_DAMAGED:
        return run.cause, run.reason
    result = damaged(record.damage) if record.damage else result_of(record)
    known = run.cause is not None and (run.cause is not Cause.LOST or part_lost)
    ended_by_engine = known and not run.cancel_requested
    if result is not None and result.cause is Cause.CANCELLED and ended_by_engine:
        return run.cause, run.reason  # the agent only knows that it was asked to end
    if result is not None:
        return result.cause, result.reason
    cause = run.cause or Cause.LOST
    if cause is Cause.LOST and run.cancel_requested:
        cause = Cause.CANCELLED
    return cause, run.reason


def _not_complete(run: Run, record: Record, found: Values) -> tuple[Cause, str] | None:
    """The failure of a benchmark that succeeded, but without all values that it must have."""
    if found.problem:
        return _incomplete(found.problem, record)
    if found.conflicts:
        return Cause.METRIC_UNITS, "; ".join(found.conflicts)
    if found.failure:
        return found.failure
    if missing := _missing(run, found.blocks):
        explained = found.explained or record
        return Cause.METRIC_MISSING, "; ".join(_explain(metric, explained) for metric in missing)
    return None


def _missing(run: Run, blocks: Sequence[SampleBlock]) -> list[Metric]:
    seen = {block.metric for block in blocks if any(repeat >= 0 for repeat in block.repeats)}
    return [metric for metric in run.descriptor.metrics if metric.required and metric.name not in seen]


def _incomplete(problem: str, record: Record) -> tuple[Cause, str]:
    """The failure of a run whose values may be incomplete."""
    free_bytes = record.exit.get("disk_free_bytes", ROOM_TO_EXTRACT)
    cause = Cause.DISK_FULL if free_bytes < ROOM_TO_EXTRACT else Cause.EXTRACTION_FAILED
    return (
        cause,
        f"the values could not be read from the output: {problem}; the output itself is in the record",
    )


def _explain(metric: Metric, record: Record) -> str:
    """Why a required metric has no sample: the rejected values, else the pattern and the most similar lines."""
    counters = record.metrics.get(metric.name, {})
    if rejected := counters.get("rejected"):
        counts = ", ".join(f"{count} {why}" for why, count in rejected.items())
        return f'metric "{metric.name}" had no usable value ({counts}; the first: {counters.get("rejected_example")!r})'
    if metric.pattern is None:
        return f'metric "{metric.name}" was never emitted'
    if counters.get("switched_off"):
        return f'the pattern of metric "{metric.name}" took too long and was switched off: {metric.pattern}'
    closest = counters.get("closest") or []
    lines = "; the closest lines: " + ", ".join(repr(line) for line in closest) if closest else ""
    return f'metric "{metric.name}" never appeared: no line matched {metric.pattern}{lines}'


def _all_measured(record: Record) -> list[Measured]:
    return [_measured(execution, record) for execution in record.executions if execution.measured]


def _measured(execution: Execution, record: Record) -> Measured:
    return Measured(
        repeat=execution.repeat,
        wall_s=execution.wall_s,
        cpu_s=execution.cpu_s,
        peak_process_bytes=execution.peak_memory_bytes,
        peak_tree_bytes=record.peak_tree_bytes(execution),
        cpu_energy_j=execution.cpu_energy_j,
        gpu_energy_j=record.gpu_energy_j(execution),
        disturbances=tuple(record.disturbances(execution)),
    )
