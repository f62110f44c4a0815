"""Stage collect: the record becomes samples and points, and the run's cause is settled."""

from collections.abc import Sequence

from anubis.model.cause import Cause
from anubis.model.metric import Metric
from anubis.model.points import SampleBlock
from anubis.model.run import Event, Run, Step
from anubis.model.status import Status
from anubis.pipeline.contracts import World
from anubis.pipeline.record import Execution, Record
from anubis.pipeline.summarise import Measured, points_of


def collect(run: Run, world: World) -> Step:
    """Read what the agent left; nothing of it is lost when the run failed, but only a good run gives points."""
    record = Record(world.records.folder(run.id, run.attempt))
    cause, reason = _cause(run, record)
    blocks = record.samples()
    if cause is None and (missing := _missing(run, blocks)):
        cause, reason = Cause.METRIC_MISSING, _explain(missing, record)
    measured = [_measured(execution) for execution in record.executions if execution.measured]
    points = points_of(run, blocks, measured, record.fingerprint) if cause is None else []
    status = _status(cause)
    event = Event(
        run_id=run.id,
        kind="final",
        time_s=world.clock.now_s(),
        message=reason,
        data={"status": status} | ({"cause": cause} if cause else {}),
    )
    return Step(
        status=status,
        cause=cause,
        reason=reason,
        samples=tuple(blocks),
        points=tuple(points),
        events=(event,),
    )


def _cause(run: Run, record: Record) -> tuple[Cause | None, str]:
    if run.cause is Cause.LOST and not record.exit:
        cause = Cause.CANCELLED if run.cancel_requested else Cause.LOST
        return cause, run.reason
    cause = record.exit.get("cause")
    return (Cause(cause) if cause else None), str(record.exit.get("reason", ""))


def _status(cause: Cause | None) -> Status:
    if cause is None:
        return Status.SUCCEEDED
    return Status.CANCELLED if cause is Cause.CANCELLED else Status.FAILED


def _missing(run: Run, blocks: Sequence[SampleBlock]) -> list[Metric]:
    seen = {block.metric for block in blocks if any(repeat >= 0 for repeat in block.repeats)}
    return [metric for metric in run.descriptor.output.metrics if metric.required and metric.name not in seen]


def _explain(missing: Sequence[Metric], record: Record) -> str:
    return "; ".join(_explain_one(metric, record) for metric in missing)


def _explain_one(metric: Metric, record: Record) -> str:
    if metric.pattern is None:
        return f'metric "{metric.name}" was never emitted'
    return f'metric "{metric.name}" never appeared: no line matched {metric.pattern!r}'


def _measured(execution: Execution) -> Measured:
    return Measured(
        repeat=execution.repeat,
        wall_s=execution.wall_s,
        cpu_s=execution.cpu_s,
        peak_memory_bytes=execution.peak_memory_bytes,
    )
