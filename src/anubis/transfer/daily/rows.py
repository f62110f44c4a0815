"""The rows of daily data sets."""

import re
from typing import Any

from anubis.contracts.records import RecordKey, RoleFiles
from anubis.contracts.world import World
from anubis.model.errors import AnubisError, NotFoundError, StoreError
from anubis.model.points import NO_STEP
from anubis.model.run import Event, Run
from anubis.record import layout
from anubis.record.log_stream import LogStream
from anubis.record.validation import DamagedError
from anubis.transfer.daily.tables import TableFile, text_of

#: Samples that are converted at once.
_SAMPLES = 65_536
#: How long after its end a run waits for a record that another home folder copies, seconds.
_PATIENCE_S = 7 * 86_400.0
#: Longer lines are cut, characters.
LONGEST_LINE = 1 << 20
#: Characters that are not text: lone surrogates.
_NOT_TEXT = re.compile("[\ud800-\udfff]")


def event_row(event: Event) -> dict[str, Any]:
    return {
        "seq": event.seq,
        "run_id": event.run_id,
        "kind": event.kind,
        "time_s": event.time_s,
        "message": event.message,
        "actor": event.actor,
        "data": text_of(event.data),
    }


def add_run(world: World, run_id: str, files: dict[str, TableFile]) -> None:
    """Write a final run with its points, samples and log lines; does nothing if it was removed."""
    try:
        run = world.runs.get(run_id)
    except NotFoundError:
        return
    if (
        world.records.is_pending(run.id, run.attempt)
        and world.clock.now_s() - (run.ended_s or 0) < _PATIENCE_S
    ):
        raise StoreError(
            f"the record of run {run.id} is not complete in the bucket yet",
            remedy="write the day again when the service that has it was active; after a week it is written as it is",
        )
    files["runs"].add(_run_row(run))
    for point in world.points.of([run_id]):
        files["points"].add({name: getattr(point, name) for name in _POINT})
    for summary in world.points.summaries(run_id):
        _add_samples(world, run_id, summary.metric, files["samples"])
    for key in sorted({each.key for each in world.records.list(run_id, run.attempt)}):
        _add_lines(world, key, files["lines"])


_POINT = (
    "run_id", "series_key", "fingerprint", "metric", "units", "value", "spread", "count", "better", "order_s",
    "subject", "contaminated",
)  # fmt: skip


def _run_row(run: Run) -> dict[str, Any]:
    descriptor = run.descriptor
    names = (
        "engine", "owner", "digest", "series_key", "family_id", "parent_id", "reason", "attempt", "created_s",
        "placed_s", "ended_s",
    )  # fmt: skip
    return {
        **{name: getattr(run, name) for name in names},
        "run_id": run.id,
        "name": descriptor.info.name,
        "status": run.status.value,
        "cause": run.cause.value if run.cause else None,
        "subject": descriptor.subject.version or descriptor.subject.commit or "",
        "labels": text_of(descriptor.info.labels),
        "cell": text_of(run.cell),
    }


def _add_samples(world: World, run_id: str, metric: str, file: TableFile) -> None:
    try:
        block = world.points.samples(run_id, metric)
    except (NotFoundError, AnubisError):  # expired, or damaged
        return
    for start in range(0, len(block.values), _SAMPLES):
        part = slice(start, start + _SAMPLES)
        count = len(block.values[part])
        columns = {
            "run_id": [run_id] * count,
            "metric": [metric] * count,
            "units": [block.units] * count,
            "value": block.values[part],
            "time_s": block.times_s[part],
            "step": [None if step == NO_STEP else step for step in block.steps[part]],
            "repeat": block.repeats[part].tolist(),
        }
        file.add_columns(columns, count)


def _add_lines(world: World, key: RecordKey, file: TableFile) -> None:
    """Write the lines of one replica; what the benchmark made unreadable is left out."""
    source = LogStream(RoleFiles(world.records, key), (layout.STDOUT, layout.STDERR))
    try:
        for number, (time_ns, stream, line) in enumerate(source.lines(last=True), 1):
            file.add(
                {
                    "run_id": key.run_id,
                    "attempt": key.attempt,
                    "role": key.role,
                    "rank": key.rank,
                    "number": number,
                    "time_s": time_ns / 1e9,
                    "stream": stream,
                    "line": _NOT_TEXT.sub("\ufffd", line[: 4 * LONGEST_LINE].decode("utf-8", "replace"))[
                        :LONGEST_LINE
                    ],
                }
            )
    except DamagedError:
        return
