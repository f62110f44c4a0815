"""What scripts read: runs, points and comparisons as JSON."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import click

from anubis.contracts.runs import RunRow
from anubis.model.points import Point
from anubis.model.run import Event, Run


def show(value: Any) -> None:
    """Print one JSON value, indented."""
    click.echo(json.dumps(finite(value), indent=2, ensure_ascii=False))


def show_list(values: Iterable[Any]) -> None:
    """Print a JSON array with one element a line, as it comes."""
    first = True
    for value in values:
        click.echo(("[\n" if first else ",\n") + json.dumps(finite(value), ensure_ascii=False), nl=False)
        first = False
    click.echo("[]" if first else "\n]")


def finite(value: Any) -> Any:
    """The value with null for figures JSON cannot hold (nan, infinities)."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value


def row_json(row: RunRow) -> dict[str, Any]:
    """A run of a listing. Times are UTC seconds since 1970."""
    return {
        "id": row.id,
        "name": row.name,
        "status": row.status.value,
        "cause": row.cause,
        "reason": row.reason,
        "engine": row.engine,
        "created_s": row.created_s,
        "placed_s": row.placed_s,
        "ended_s": row.ended_s,
        "family_id": row.family_id,
        "labels": row.labels,
        "subject": row.subject,
        "cell": row.cell,
        "metrics": {
            metric: {"value": value, "units": units} for metric, (value, units) in row.values.items()
        },
    }


def run_json(run: Run, points: Sequence[Point] = ()) -> dict[str, Any]:
    """A run with its points, in the shape of ``row_json`` and with more detail."""
    subject = run.descriptor.subject
    return {
        "id": run.id,
        "name": run.descriptor.info.name,
        "status": run.status.value,
        "cause": run.cause.value if run.cause else None,
        "reason": run.reason,
        "engine": run.engine,
        "created_s": run.created_s,
        "placed_s": run.placed_s,
        "ended_s": run.ended_s,
        "family_id": run.family_id,
        "labels": run.descriptor.info.labels,
        "subject": subject.version or subject.commit or "",
        "cell": run.cell,
        "attempt": run.attempt,
        "owner": run.owner,
        "digest": run.digest,
        "series_key": run.series_key,
        "cancel_requested": run.cancel_requested,
        "metrics": {point.metric: point_json(point) for point in points},
    }


def point_json(point: Point) -> dict[str, Any]:
    """One value of one run and metric."""
    return {
        "value": point.value,
        "units": point.units,
        "spread": point.spread,
        "repeats": point.count,
        "better": point.better,
        "contaminated": point.contaminated,
    }


def event_json(event: Event) -> dict[str, Any]:
    """One line of a timeline."""
    return {
        "seq": event.seq,
        "kind": event.kind,
        "time_s": event.time_s,
        "message": event.message,
        "actor": event.actor,
        "data": event.data,
    }
