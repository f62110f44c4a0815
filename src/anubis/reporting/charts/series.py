"""A series as SVG: points, levels with their bands, changes with the range of their positions, and accepted baselines."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from anubis.reporting.charts import svg
from anubis.reporting.charts.data import ChangeMark, ChartPoint, SeriesChart, Tone
from anubis.reporting.charts.frame import (
    CHARACTER,
    Frame,
    Scale,
    frame,
    heading,
    position_labels,
    scale_for,
    value_lines,
)
from anubis.reporting.charts.thinning import kept

#: Signs of tones, so that no meaning depends on colour.
SIGNS = {Tone.BETTER: "▲", Tone.WORSE: "▼", Tone.CHANGED: "◆", Tone.NEUTRAL: "●", Tone.UNSURE: "?"}
WIDTH, HEIGHT = 720.0, 240.0


def series_svg(chart: SeriesChart, *, width: float = WIDTH, height: float = HEIGHT) -> str:
    """The image of a series, with at most two points for each pixel; extremes and gaps remain."""
    points = thinned(chart.points, round(2 * width))
    scale = scale_for([point.value for point in points], chart.units)
    numbers = list(_numbers(chart, points, scale))
    area = frame(width, height, numbers, [point.x for point in points])
    title = heading(chart.title, scale.unit, chart.better, log=area.y.log)
    parts = [
        svg.text(title, 8, 16, "heading", most=round(width / CHARACTER)),
        *value_lines(area),
        *position_labels(area, points, time_axis=chart.time_axis),
        *_levels(chart, area, scale),
        *_changes(chart.changes, area),
        *_baselines(chart, area),
        *_points(points, area, scale),
    ]
    if not numbers:
        parts.append(svg.text("no values", width / 2, height / 2, "note", anchor="middle"))
    return svg.picture((width, height), parts, "series", title=title, description=chart.description)


def thinned(points: tuple[ChartPoint, ...], most: int) -> tuple[ChartPoint, ...]:
    """At most ``most`` points with their extremes and gaps. Values that are not finite become missing."""
    finite = [
        point if point.value is None or math.isfinite(point.value) else replace(point, value=None)
        for point in points
        if math.isfinite(point.x)
    ]
    return tuple(finite[at] for at in kept([point.value for point in finite], most))


def _numbers(chart: SeriesChart, points: Iterable[ChartPoint], scale: Scale) -> Iterator[float]:
    """Every finite value that must be visible."""
    for point in points:
        for value in (point.value, *point.repeats):
            if (scaled := scale.of(value)) is not None:
                yield scaled
    for level in chart.levels:
        if (scaled := scale.of(level.value)) is not None:
            yield scaled


def _levels(chart: SeriesChart, area: Frame, scale: Scale) -> Iterator[str]:
    for level in chart.levels:
        start, end = area.x.at(level.start), area.x.at(level.end)
        low, high, value = scale.of(level.low), scale.of(level.high), scale.of(level.value)
        if low is not None and high is not None:
            top, bottom = area.y.at(high), area.y.at(low)
            yield svg.box(start, top, max(end - start, 2), bottom - top, "band")
        if value is not None:
            yield svg.line(start, area.y.at(value), max(end, start + 2), area.y.at(value), "level")


def _changes(changes: Iterable[ChangeMark], area: Frame) -> Iterator[str]:
    free = -math.inf
    for mark in changes:
        x = area.x.at(mark.x)
        start, end = area.x.at(mark.earliest), area.x.at(mark.latest)
        text = f"{SIGNS[mark.tone]} {mark.text}"
        width = len(text) * CHARACTER
        inside = [
            f"<title>{svg.shown(f'{mark.tone.value}: {mark.text}')}</title>",
            svg.box(start, area.top, end - start, area.bottom - area.top, "range"),
            svg.line(x, area.top, x, area.bottom, "step"),
        ]
        left = min(x + 4, area.x.end - width)
        if left >= free:
            inside.append(svg.text(text, left, area.top + 10, "mark"))
            free = left + width + 8
        else:  # the sign alone remains where texts would overlap
            inside.append(svg.text(SIGNS[mark.tone], x, area.top + 22, "mark", anchor="middle"))
        yield f'<g class="change {mark.tone.value}">{"".join(inside)}</g>'


def _baselines(chart: SeriesChart, area: Frame) -> Iterator[str]:
    for mark in chart.baselines:
        x = area.x.at(mark.x)
        parts = f"<title>{svg.shown(mark.text)}</title>" + svg.line(x, area.top, x, area.bottom, "accepted")
        yield f"<g>{parts}{svg.text('⚑', x, area.bottom - 4, 'mark', anchor='middle')}</g>"


def _points(points: tuple[ChartPoint, ...], area: Frame, scale: Scale) -> Iterator[str]:
    places: list[tuple[float, float] | None] = []
    full: list[tuple[float, float]] = []
    hollow: list[tuple[float, float]] = []
    repeats: list[tuple[float, float]] = []
    for point in points:
        value = scale.of(point.value)
        x = area.x.at(point.x)
        shown = (scale.of(repeat) for repeat in point.repeats)
        repeats.extend((x, area.y.at(repeat)) for repeat in shown if repeat is not None)
        if value is None:
            places.append(None)
            continue
        place = x, area.y.at(value)
        places.append(place)
        (hollow if point.disturbed else full).append(place)
    yield svg.path(svg.dots(repeats), "repeats")
    yield svg.path(svg.joined(places), "line")
    yield svg.path(svg.dots(full), "dots")
    yield svg.path(svg.rings(hollow), "rings")
