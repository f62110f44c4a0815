"""Runs, rows of listings, events."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from anubis.api.json_values import Json
from anubis.api.points import value_to_json
from anubis.contracts.runs import RunRow
from anubis.model.hardware import Cost
from anubis.model.plain import from_plain, to_plain
from anubis.model.points import Point
from anubis.model.run import Event, Run
from anubis.model.status import Status

#: What only the detailed form of a run contains.
_DETAILS = ("parent_id", "phase_s", "due_s", "folder", "order_s", "placement", "descriptor")


def row_to_json(row: RunRow) -> Json:
    """A run of a listing."""
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
        "overrides": row.overrides,
        "cost": cost_to_json(row.cost),
        "project": row.project,
        "metrics": {
            metric: {"value": value, "units": units} for metric, (value, units) in row.values.items()
        },
    }


def row_from_json(plain: Mapping[str, Any]) -> RunRow:
    fields = {name: item for name, item in plain.items() if name not in {"status", "metrics", "cost"}}
    values = {
        metric: (math.nan if each["value"] is None else each["value"], each["units"])
        for metric, each in plain["metrics"].items()
    }
    cost = cost_from_json(plain.get("cost"))
    return RunRow(**fields, status=Status(plain["status"]), values=values, cost=cost)


def run_to_json(run: Run, points: Sequence[Point] = ()) -> Json:
    """A run and its values, in the form of ``row_to_json`` with more fields."""
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
        "overrides": run.overrides,
        "cost": cost_to_json(run.cost),
        "project": run.project,
        "phase": None if run.phase is None else run.phase.value,
        "attempt": run.attempt,
        "owner": run.owner,
        "digest": run.digest,
        "series_key": run.series_key,
        "cancel_requested": run.cancel_requested,
        "needs": list(run.needs),
        "metrics": {point.metric: value_to_json(point) for point in points},
    }


def cost_to_json(cost: Cost | None) -> Json | None:
    """None: no machine was used. The amount of an unknown cost is null."""
    return None if cost is None else {"amount": cost.amount, "currency": cost.currency}


def cost_from_json(plain: Mapping[str, Any] | None) -> Cost | None:
    return None if plain is None else Cost(amount=plain["amount"], currency=plain["currency"])


def run_details_to_json(run: Run, points: Sequence[Point] = ()) -> Json:
    """A run with everything that ``run_from_json`` needs, its descriptor included."""
    details = {name: to_plain(getattr(run, name)) for name in _DETAILS}
    return {**run_to_json(run, points), **details}


def run_from_json(plain: Mapping[str, Any]) -> Run:
    """The run of ``run_details_to_json``."""
    return from_plain(Run, plain)


def event_to_json(event: Event) -> Json:
    """An entry of a run's timeline."""
    return {
        "seq": event.seq,
        "kind": event.kind,
        "time_s": event.time_s,
        "message": event.message,
        "actor": event.actor,
        "data": event.data,
    }


def event_from_json(run_id: str, plain: Mapping[str, Any]) -> Event:
    """An event of a run's timeline; its JSON form does not contain the run."""
    return from_plain(Event, {**plain, "run_id": run_id})
