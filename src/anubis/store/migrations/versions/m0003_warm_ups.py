"""Warm-ups no longer count in the summaries of samples."""

import json
from array import array
from collections.abc import Iterator
from math import isnan, nan
from typing import Any

import sqlalchemy as sa
from alembic import op

from anubis.store.columns import unpack
from anubis.store.text import unpacked

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    for run, metric in _summarised_with_warm_ups():
        values = _measured_values(run, metric)
        key = {"run": run, "metric": metric}
        if not values:
            _execute("DELETE FROM summaries WHERE run = :run AND metric = :metric", key)
            continue
        known = [value for value in values if not isnan(value)]
        _execute(
            "UPDATE summaries SET count = :count, last = :last, min = :min, max = :max, sum = :sum "
            "WHERE run = :run AND metric = :metric",
            {
                **key,
                "count": len(values),
                "last": values[-1],
                "min": min(known, default=nan),
                "max": max(known, default=nan),
                "sum": sum(values),
            },
        )


def _summarised_with_warm_ups() -> Iterator[tuple[int, int]]:
    """Run and metric of the summaries of runs whose descriptor has warm-ups."""
    for row in _execute("SELECT id, body FROM descriptors").all():
        if json.loads(unpacked(row.body)).get("measure", {}).get("warmups", 0) > 0:
            found = _execute(
                "SELECT summaries.run, summaries.metric FROM summaries "
                "JOIN runs ON runs.no = summaries.run WHERE runs.descriptor = :id",
                {"id": row.id},
            )
            yield from ((each.run, each.metric) for each in found.all())


def _measured_values(run: int, metric: int) -> "array[float]":
    """The values of all segments outside warm-ups, whose repeats are negative."""
    segments = _execute(
        "SELECT body FROM samples WHERE run = :run AND metric = :metric ORDER BY start",
        {"run": run, "metric": metric},
    )
    measured = array("d")
    for segment in segments.all():
        values, _, _, repeats = unpack(segment.body)
        measured.extend(value for value, repeat in zip(values, repeats, strict=True) if repeat >= 0)
    return measured


def _execute(statement: str, parameters: dict[str, Any] | None = None) -> sa.CursorResult[Any]:
    return op.get_bind().execute(sa.text(statement), parameters or {})
