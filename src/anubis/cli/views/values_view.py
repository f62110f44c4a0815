"""The table of a run's values."""

from collections.abc import Sequence

from anubis.analysis import quantities
from anubis.cli import terminal
from anubis.cli.views import tables, units
from anubis.cli.views.status_text import own_last
from anubis.contracts.points import MetricSummary
from anubis.model.points import Point

_COLUMNS = (
    tables.Column(title="METRIC"),
    tables.Column(title="VALUE", right=True),
    tables.Column(title="UNIT"),
    tables.Column(title="SPREAD", right=True),
    tables.Column(title="REPEATS", right=True),
    tables.Column(title="SAMPLES", right=True),
    tables.Column(title="MIN", right=True),
    tables.Column(title="MAX", right=True),
)


def show(points: Sequence[Point], summaries: Sequence[MetricSummary]) -> None:
    """Print a line for each value, with the samples from which it was computed."""
    by_metric = {summary.metric: summary for summary in summaries}
    ordered = sorted(points, key=lambda point: own_last(point.metric))
    tables.show(_COLUMNS, [_row(point, by_metric.get(point.metric)) for point in ordered])
    if any(point.contaminated for point in points):
        terminal.line("* the machine was disturbed during the run: see anubis show")


def _row(point: Point, summary: MetricSummary | None) -> list[tables.Cell]:
    factor, unit = quantities.scale_of(point.value, point.units)
    mark = " *" if point.contaminated else ""
    relative = abs(point.spread / point.value) if point.spread is not None and point.value else None
    row: list[tables.Cell] = [
        point.metric + mark,
        quantities.number(point.value * factor),
        unit,
        "" if relative is None else units.share(relative),
        str(point.count),
    ]
    if summary is None or summary.count <= point.count:
        return [*row, "", "", ""]
    extremes = [quantities.number(value * factor) for value in (summary.min, summary.max)]
    return [*row, str(summary.count), *extremes]
