"""A sparkline: the newest values of a series beside its figures."""

import math
from collections.abc import Sequence

from anubis.reporting.charts import svg
from anubis.reporting.charts.axes import position_axis, value_axis
from anubis.reporting.charts.data import Tone


def sparkline(
    values: Sequence[float | None],
    *,
    title: str,
    tone: Tone = Tone.NEUTRAL,
    width: float = 120,
    height: float = 24,
) -> str:
    """A small line through the values; a missing one is a gap, and the last value is a dot."""
    finite = [value for value in values if value is not None and math.isfinite(value)]
    y = value_axis(finite, height - 3, 3, log=False)
    x = position_axis(0, len(values) - 1, 3, width - 4)
    places = [
        (x.at(at), y.at(value)) if value is not None and math.isfinite(value) else None
        for at, value in enumerate(values)
    ]
    shown = [place for place in places if place is not None]
    parts = [svg.path(svg.joined(places), "line"), svg.path(svg.dots(shown[-1:]), f"dots {tone.value}")]
    return svg.picture((width, height), parts, "spark", title=title, description="")
