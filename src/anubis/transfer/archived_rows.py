"""Checks the rows of an archive of unknown origin, and makes of them the rows that an import stores.

Imported events have the kind ``imported``, so they take part in nothing that depends on events. Receivers of
notifications are removed, and the families of imported runs are apart from those of this installation: runs of a family
that confirms an alert, or that searches a commit, decide about its verdict.
"""

import json
import math
import re
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.hardware import Cost
from anubis.model.identity import digest
from anubis.model.points import Point
from anubis.model.run import Event, Run

#: The kind of the events of imported runs; their own kind is in their data.
IMPORTED_EVENT = "imported"
_FAMILIES = uuid.UUID("f2b8b1c6-54a7-4e0f-9d43-8c0fb8a1a3d5")
_MAX_ATTEMPT = 1_000_000
_MAX_COUNT = 2**31 - 1
#: UTC seconds; the year 36812.
_MAX_TIME_S = 2.0**40
_LONGEST_TEXT = 10_000
_LONGEST_NAME = 1000
_LONGEST_CELL = 100_000
_DIGEST = re.compile(r"[0-9a-f]{64}")


def problems(run: Run, events: tuple[Event, ...], points: tuple[Point, ...]) -> Iterator[str]:
    """What no run that was exported can contain. Types are already checked."""
    yield from _run_problems(run)
    for event in events:
        if event.run_id != run.id:
            yield f"an event of another run, {event.run_id[:40]!r}"
        if not (_is_name(event.kind) and _is_text(event.message) and _is_text(event.actor)):
            yield "an event with a text that is too long"
        if not _is_time(event.time_s):
            yield f"an event at the time {event.time_s}"
    if len({point.metric for point in points}) != len(points):
        yield "two points of one metric"
    for point in points:
        yield from _point_problems(run, point)


def _run_problems(run: Run) -> Iterator[str]:
    if not is_id(run.id):
        yield f"the run id {run.id[:40]!r}"
    for name, value in (("family", run.family_id), ("parent", run.parent_id)):
        if value is not None and not is_id(value):
            yield f"the {name} id {value[:40]!r}"
    if not run.status.final:
        yield "a run that is not final"
    if run.digest != digest(run.descriptor):
        yield "a digest that is not that of the descriptor"
    if not _DIGEST.fullmatch(run.series_key):
        yield "a series key that is not a digest"
    yield from _range_problems(run)


def _range_problems(run: Run) -> Iterator[str]:
    if not 0 < run.attempt <= _MAX_ATTEMPT:
        yield f"the attempt {str(run.attempt)[:20]}"
    times = (run.created_s, run.due_s, run.placed_s, run.ended_s, run.order_s, run.phase_s)
    if not all(time_s is None or _is_time(time_s) for time_s in times):
        yield "a time that is not valid"
    names = (run.owner, run.engine, run.descriptor.info.name)
    if not (all(map(_is_name, names)) and _is_text(run.reason) and _is_text(run.folder or "")):
        yield "a text that is too long"
    if run.cost is not None and not _is_cost(run.cost):
        yield "a cost that is not valid"
    if len(json.dumps(run.cell)) > _LONGEST_CELL:
        yield "a cell that is too large"


def _point_problems(run: Run, point: Point) -> Iterator[str]:
    if (point.run_id, point.series_key) != (run.id, run.series_key):
        yield f"a point of another run, {point.run_id[:40]!r}"
    texts = (point.metric, point.units, point.fingerprint, point.better, point.subject)
    if not point.metric or not all(map(_is_name, texts)):
        yield "a point with a name that is empty or too long"
    if not (math.isfinite(point.value) and 0 < point.count <= _MAX_COUNT and _is_time(point.order_s)):
        yield f"a point of {point.metric[:40]!r} without a finite value, count or time"
    if point.spread is not None and not 0 <= point.spread < math.inf:
        yield f"a point of {point.metric[:40]!r} with the spread {point.spread}"


def is_id(text: str) -> bool:
    """Whether this is an id as Anubis writes it."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _is_time(time_s: float) -> bool:
    return 0 <= time_s < _MAX_TIME_S


def _is_cost(cost: Cost) -> bool:
    if cost.amount is None:
        return not cost.currency
    return 0 <= cost.amount < math.inf and re.fullmatch("[A-Z]{3}", cost.currency) is not None


def _is_text(text: str) -> bool:
    return len(text) <= _LONGEST_TEXT


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME


def imported_run(run: Run) -> Run:
    """The run as it is stored here: without receivers and placement, and in a family of imported runs."""
    descriptor = replace(run.descriptor, notify=())
    family = None if run.family_id is None else str(uuid.uuid5(_FAMILIES, run.family_id))
    return replace(
        run,
        descriptor=descriptor,
        digest=digest(descriptor),
        family_id=family,
        placement=None,
        project=DEFAULT_PROJECT,
        cancel_requested=False,
        due_s=run.created_s,
        phase=None,
        phase_s=None,
    )


def imported_event(event: Event) -> Event:
    """The event as it is stored here. An event that was imported before stays as it is."""
    if event.kind == IMPORTED_EVENT:
        return replace(event, actor="", seq=None)
    data: dict[str, Any] = {"kind": event.kind, "data": event.data, "actor": event.actor}
    message = ": ".join(part for part in (event.kind, event.message) if part)
    return Event(
        run_id=event.run_id,
        kind=IMPORTED_EVENT,
        time_s=event.time_s,
        message=message,
        data={name: value for name, value in data.items() if value},
    )
