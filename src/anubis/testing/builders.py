"""Builds runs, points and events with defaults for all fields."""

from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from anubis.model.descriptor import Descriptor, Info, Ml
from anubis.model.hardware import Hardware
from anubis.model.identity import digest, series_key
from anubis.model.ids import new_run_id
from anubis.model.points import NO_STEP, Point, PointBlock, SampleBlock
from anubis.model.run import Event, Placement, Run
from anubis.model.status import Status

#: Default time of runs and events; UTC seconds since 1970.
NOW_S = 1_700_000_000.0


def a_descriptor(
    name: str = "hello",
    *,
    command: str = "true",
    labels: dict[str, str] | None = None,
    priority: int = 0,
    **changes: Any,
) -> Descriptor:
    """A minimal descriptor; ``changes`` are fields of Descriptor."""
    return Descriptor(
        info=Info(name=name, labels=labels or {}, priority=priority),
        hardware=changes.pop("hardware", Hardware(instance_type="local")),
        ml=changes.pop("ml", Ml(benchmark_code=command)),
        **changes,
    )


def a_run(descriptor: Descriptor | None = None, **changes: Any) -> Run:
    """A new run; ``changes`` are fields of Run. Unless ``due_s`` is given, it is due at its creation time."""
    descriptor = descriptor or a_descriptor()
    created_s = changes.pop("created_s", NOW_S)
    run = Run(
        id=new_run_id(),
        descriptor=descriptor,
        digest=digest(descriptor),
        series_key=series_key(descriptor),
        owner="a-client",
        engine="fake",
        status=Status.FETCH,
        created_s=created_s,
        due_s=changes.pop("due_s", created_s),
    )
    return replace(run, **changes)


def a_placement(run: Run, **details: Any) -> Placement:
    """A placement of the run; ``details`` are those of the engine."""
    return Placement(engine=run.engine, name=f"{run.id}-{run.attempt}", details=details)


def an_event(run: Run, kind: str = "note", **changes: Any) -> Event:
    """An event of the run; ``changes`` are fields of Event."""
    return replace(Event(run_id=run.id, kind=kind, time_s=NOW_S), **changes)


def a_point(run: Run, metric: str = "latency", value: float = 1.0, **changes: Any) -> Point:
    """A point of the run; ``changes`` are fields of Point."""
    point = Point(
        run_id=run.id,
        series_key=run.series_key,
        fingerprint="a-machine",
        metric=metric,
        units="ms",
        value=value,
        spread=None,
        count=1,
        order_s=run.created_s,
    )
    return replace(point, **changes)


def block_of(points: Sequence[Point]) -> PointBlock:
    """Points of one series, oldest first, as columns."""
    newest = points[-1]
    return PointBlock(
        series_key=newest.series_key,
        fingerprint=newest.fingerprint,
        metric=newest.metric,
        units=newest.units,
        better=newest.better,
        run_ids=tuple(point.run_id for point in points),
        values=tuple(point.value for point in points),
        spreads=tuple(point.spread for point in points),
        counts=tuple(point.count for point in points),
        orders_s=tuple(point.order_s for point in points),
        subjects=tuple(point.subject for point in points),
        sessions=tuple(point.session for point in points),
        contaminated=tuple(point.contaminated for point in points),
    )


def samples_of(
    values: Sequence[float], metric: str = "latency", *, units: str = "ms", start: int = 0
) -> SampleBlock:
    """A block of these values, one second apart, of the first repeat and without steps."""
    return SampleBlock(
        metric=metric,
        units=units,
        values=array("d", values),
        times_s=array("d", [NOW_S + start + i for i in range(len(values))]),
        steps=array("q", [NO_STEP] * len(values)),
        repeats=array("i", [0] * len(values)),
        start=start,
    )
