"""Every value of each side as a dot, with the median and the box of the quartiles."""

import math
from collections.abc import Iterator
from statistics import median, quantiles

from anubis.analysis.quantities import level_text
from anubis.reporting.charts import svg
from anubis.reporting.charts.axes import Axis, ticks, value_axis
from anubis.reporting.charts.data import DistributionChart
from anubis.reporting.charts.frame import CHARACTER, heading, scale_for
from anubis.reporting.charts.thinning import kept

ROW = 44.0
#: Most dots of a side.
DOTS = 1500


def distribution_svg(chart: DistributionChart, *, width: float = 720) -> str:
    """One row for each side on a common axis; logarithmic if the values differ much."""
    sides = [
        (side.label, sorted(value for value in side.values if math.isfinite(value))) for side in chart.sides
    ]
    scale = scale_for([value for _, values in sides for value in values], chart.units)
    scaled = [
        (label, [each for value in values if (each := scale.of(value)) is not None])
        for label, values in sides
    ]
    label_width = min(200.0, 16 + CHARACTER * max((len(label) for label, _ in scaled), default=0))
    axis = value_axis([value for _, values in scaled for value in values], label_width + 12, width - 24)
    height = 34 + ROW * max(1, len(scaled)) + 22
    title = heading(chart.title, scale.unit, chart.better, log=axis.log)
    parts = [svg.text(title, 8, 16, "heading")]
    for value, label in ticks(axis):
        at = axis.at(value)
        parts.append(svg.line(at, 28, at, height - 24, "grid"))
        parts.append(svg.text(label, at, height - 8, "tick", anchor="middle"))
    for at, (label, values) in enumerate(scaled):
        parts.append(f'<g class="side side-{at % 8}">')
        parts += _side(label, values, axis, 34 + ROW * (at + 0.5), label_width)
        parts.append("</g>")
    return svg.picture((width, height), parts, "distribution", title=title, description=chart.description)


def _side(label: str, values: list[float], axis: Axis, y: float, label_width: float) -> Iterator[str]:
    most = max(4, round((label_width - 16) / CHARACTER) + 1)
    yield svg.text(label, 8, y + 4, "name", most=most)
    if not values:
        yield svg.text("no values", axis.start, y + 4, "note")
        return
    middle = median(values)
    if len(values) >= 4:
        low, _, high = quantiles(values, n=4, method="inclusive")
        title = f"half of the {len(values)} values are between {level_text(low)} and {level_text(high)}"
        yield svg.box(
            axis.at(low), y - 12, max(1.0, axis.at(high) - axis.at(low)), 24, "quartiles", title=title
        )
    shown = kept(values, DOTS)
    # neighbours lie on different heights, so equal values are visible too
    places = ((axis.at(values[at]), y + (number * 5 % 7 - 3) * 2.6) for number, at in enumerate(shown))
    yield svg.path(svg.dots(places), "dots")
    yield svg.line(axis.at(middle), y - 14, axis.at(middle), y + 14, "median")
