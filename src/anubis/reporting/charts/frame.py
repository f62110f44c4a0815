"""The frame of a chart: heading, axes with labels, and the area in which it is drawn."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from anubis.analysis.quantities import common_scale
from anubis.reporting.charts import svg
from anubis.reporting.charts.axes import Axis, position_axis, ticks, time_ticks, value_axis
from anubis.reporting.charts.data import ChartPoint
from anubis.reporting.markup import short_subject

#: Pixels of a character, on average.
CHARACTER = 6.6
_DIRECTIONS = {"higher": "higher is better", "lower": "lower is better"}


def heading(title: str, unit: str, better: str, *, log: bool = False) -> str:
    """``throughput, img/s (higher is better)``: the unit and direction are part of every chart."""
    parts = [_DIRECTIONS.get(better, "no direction"), *(["log axis"] if log else [])]
    return f"{title}{f', {unit}' if unit else ''} ({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class Scale:
    """The factor and unit in which the values of a chart are shown."""

    factor: float
    unit: str

    def of(self, value: float | None) -> float | None:
        """A value in the shown unit; None if it is missing or not finite."""
        if value is None:
            return None
        scaled = value * self.factor
        return scaled if math.isfinite(scaled) else None


def scale_for(values: Iterable[float | None], units: str) -> Scale:
    """The scale of values that are shown together."""
    factor, unit = common_scale(list(values), units)
    return Scale(factor, unit)


@dataclass(frozen=True, slots=True)
class Frame:
    """Where values and positions lie in an image."""

    width: float
    height: float
    x: Axis
    y: Axis

    @property
    def top(self) -> float:
        """The upper edge of the area."""
        return self.y.end

    @property
    def bottom(self) -> float:
        """The lower edge of the area."""
        return self.y.start


def frame(width: float, height: float, values: Sequence[float], positions: Sequence[float]) -> Frame:
    """A frame for finite values and positions; the labels of the values fit on its left."""
    y = value_axis(values, height - 26, 30)
    wide = max((len(label) for _, label in ticks(y)), default=1)
    x = position_axis(
        min(positions, default=0.0), max(positions, default=1.0), wide * CHARACTER + 22, width - 16
    )
    return Frame(width, height, x, y)


def value_lines(area: Frame) -> Iterable[str]:
    """A line and a label for each round value."""
    for value, label in ticks(area.y):
        y = area.y.at(value)
        yield svg.line(area.x.start - 6, y, area.x.end + 6, y, "grid")
        yield svg.text(label, area.x.start - 10, y + 4, "tick", anchor="end")


def position_labels(area: Frame, points: Sequence[ChartPoint], *, time_axis: bool) -> Iterable[str]:
    """Times, or the subjects of some points, below the area."""
    y = area.bottom + 18
    if time_axis:
        for at, label in time_ticks(area.x):
            yield svg.line(area.x.at(at), area.bottom, area.x.at(at), area.bottom + 4, "axis")
            yield svg.text(label, area.x.at(at), y, "tick", anchor="middle")
        return
    taken = -math.inf
    for place, point, anchor in _chosen(points):
        label = short_subject(point.label)
        at = area.x.at(point.x)
        half = len(label) * CHARACTER / 2
        left = at if anchor == "start" else at - 2 * half if anchor == "end" else at - half
        if not label or (left < taken and place != 0):
            continue
        yield svg.line(at, area.bottom, at, area.bottom + 4, "axis")
        yield svg.text(label, at, y, "tick", anchor=anchor)
        taken = left + 2 * half + 12


def _chosen(points: Sequence[ChartPoint]) -> list[tuple[int, ChartPoint, str]]:
    """Up to five points at equal distances, with the anchors of their labels."""
    if not points:
        return []
    last = len(points) - 1
    places = sorted({round(last * part / 4) for part in range(5)})
    return [(at, points[at], "start" if at == 0 else "end" if at == last else "middle") for at in places]
