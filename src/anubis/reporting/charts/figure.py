"""A figure of a page: the image, and the data with which a script replaces it by a chart that zooms.

Without the script, in a mail or on paper, the image remains.
"""

import json
from functools import cache
from importlib.resources import files

from anubis.reporting.charts.data import SeriesChart
from anubis.reporting.charts.frame import heading, scale_for
from anubis.reporting.charts.series import SIGNS, series_svg, thinned
from anubis.reporting.markup import one_line

#: Most points of an interactive chart.
POINTS = 20_000


@cache
def asset(name: str) -> str:
    """The text of a file of ``reporting/assets``: ``charts.css``, ``charts.js``, ``uplot.min.js``, ``uplot.min.css``."""
    return (files("anubis.reporting") / "assets" / name).read_text(encoding="utf-8")


def scripts() -> str:
    """The script of interactive charts: the library and our use of it."""
    return f"{asset('uplot.min.js')}\n{asset('charts.js')}"


def styles() -> str:
    """The style sheet of charts."""
    return f"{asset('charts.css')}\n{asset('uplot.min.css')}"


def standalone(image: str) -> str:
    """An image with the style sheet inside, for a separate file or address."""
    at = image.index(">") + 1
    return f"{image[:at]}<style>{asset('charts.css')}</style>{image[at:]}"


def series_figure(chart: SeriesChart, *, link: str = "") -> str:
    """The HTML of a series. ``link`` is the prefix of addresses of runs; empty: points are no links."""
    data = embedded(series_data(chart, link=link))
    return (
        f'<figure class="chart-figure" data-chart="series">{series_svg(chart)}'
        f'<script type="application/json" class="chart-data">{data}</script></figure>'
    )


def embedded(data: object) -> str:
    """JSON that cannot end the element that contains it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def series_data(chart: SeriesChart, *, link: str = "") -> dict[str, object]:
    """The columns and marks of an interactive chart, in the shown unit; null is a gap."""
    points = thinned(chart.points, POINTS)
    scale = scale_for([point.value for point in points], chart.units)
    return {
        "title": heading(one_line(chart.title), scale.unit, chart.better),
        "unit": scale.unit,
        "time": chart.time_axis,
        "x": [point.x for point in points],
        "y": [scale.of(point.value) for point in points],
        "labels": [one_line(point.label, 60) for point in points],
        "runs": [one_line(point.run, 60) for point in points],
        "link": link,
        "disturbed": [at for at, point in enumerate(points) if point.disturbed],
        "levels": [
            [each.start, each.end, scale.of(each.value), scale.of(each.low), scale.of(each.high)]
            for each in chart.levels
        ],
        "changes": [
            [
                each.x,
                each.earliest,
                each.latest,
                each.tone.value,
                f"{SIGNS[each.tone]} {one_line(each.text, 60)}",
            ]
            for each in chart.changes
        ],
        "baselines": [each.x for each in chart.baselines],
    }
