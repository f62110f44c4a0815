"""The telemetry of a run as charts on one time axis."""

import math

from anubis.record.reading import Record
from anubis.reporting.charts.data import ChartPoint, LevelMark, SeriesChart

#: Columns that are drawn, in this order; others are in the record.
_FIRST = (
    "cpu",
    "tree_cpu",
    "memory",
    "tree_memory",
    "gpu",
    "disk",
    "network",
    "frequency",
    "temperature",
    "power",
)
_MOST = 16


def charts(record: Record) -> list[SeriesChart]:
    """A chart for each column with values, with the measured executions shaded. Raises DamagedError."""
    found = record.telemetry
    if found is None or not found.times_s:
        return []
    shaded = [(each.started_s, each.ended_s) for each in record.executions if each.repeat >= 0]
    names = [name for name, column in found.columns.items() if any(map(math.isfinite, column))]
    names.sort(key=lambda name: (_rank(name), name))
    return [
        _chart(name, found.units[name], list(found.times_s), list(found.columns[name]), shaded)
        for name in names[:_MOST]
    ]


def _rank(name: str) -> int:
    return next((at for at, start in enumerate(_FIRST) if name.startswith(start)), len(_FIRST))


def _chart(
    name: str, units: str, times_s: list[float], values: list[float], shaded: list[tuple[float, float]]
) -> SeriesChart:
    """Values over time; a level for the mean of each execution."""
    points = [
        ChartPoint(x=at_s, value=value if math.isfinite(value) else None)
        for at_s, value in zip(times_s, values, strict=True)
    ]
    levels = []
    for start_s, end_s in shaded[:50]:
        inside = [each.value for each in points if each.value is not None and start_s <= each.x <= end_s]
        if inside:
            mean = sum(inside) / len(inside)
            levels.append(LevelMark(start=start_s, end=end_s, value=mean, low=min(inside), high=max(inside)))
    return SeriesChart(
        title=name.replace("_", " "),
        description=f"{name} once a second; the levels are the means of the measured executions",
        units=units,
        points=tuple(points),
        levels=tuple(levels),
        time_axis=True,
    )
