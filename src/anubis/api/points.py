"""Points, samples and their summaries."""

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from anubis.api.json_values import Json
from anubis.contracts.points import MetricSummary
from anubis.model.plain import from_plain
from anubis.model.points import NO_STEP, Point, SampleBlock


def point_to_json(point: Point) -> Json:
    """A point of a series."""
    return asdict(point)


def point_from_json(plain: Mapping[str, Any]) -> Point:
    return from_plain(Point, plain)


def value_to_json(point: Point) -> Json:
    """A point as the value of a run: without the run, its series and its machine."""
    return {
        "value": point.value,
        "units": point.units,
        "spread": point.spread,
        "repeats": point.count,
        "better": point.better,
        "contaminated": point.contaminated,
    }


def summary_to_json(summary: MetricSummary) -> Json:
    return asdict(summary)


def summary_from_json(plain: Mapping[str, Any]) -> MetricSummary:
    return from_plain(MetricSummary, plain)


def samples_to_json(block: SampleBlock) -> Iterator[Json]:
    """One object for each sample."""
    for time_s, repeat, step, value in zip(
        block.times_s, block.repeats, block.steps, block.values, strict=True
    ):
        yield {
            "metric": block.metric,
            "units": block.units,
            "time_s": time_s,
            "repeat": repeat,
            "step": None if step == NO_STEP else step,
            "value": value,
        }


def samples_from_json(rows: Sequence[Mapping[str, Any]]) -> SampleBlock:
    """The block of at least one sample, all of one metric."""
    return SampleBlock(
        metric=rows[0]["metric"],
        units=rows[0]["units"],
        values=array("d", [row["value"] for row in rows]),
        times_s=array("d", [row["time_s"] for row in rows]),
        steps=array("q", [NO_STEP if row["step"] is None else row["step"] for row in rows]),
        repeats=array("i", [row["repeat"] for row in rows]),
    )


def columns_to_json(block: SampleBlock) -> Json:
    """Samples of one metric as columns of equal length; a step is null where none was given."""
    return {
        "metric": block.metric,
        "units": block.units,
        "values": list(block.values),
        "times_s": list(block.times_s),
        "steps": [None if step == NO_STEP else step for step in block.steps],
        "repeats": list(block.repeats),
    }


def columns_from_json(plain: Mapping[str, Any]) -> SampleBlock:
    """The block of ``columns_to_json``."""
    return SampleBlock(
        metric=plain["metric"],
        units=plain["units"],
        values=array("d", [math.nan if value is None else value for value in plain["values"]]),
        times_s=array("d", plain["times_s"]),
        steps=array("q", [NO_STEP if step is None else step for step in plain["steps"]]),
        repeats=array("i", plain["repeats"]),
    )
