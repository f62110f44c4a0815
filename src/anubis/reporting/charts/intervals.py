"""Effects with their intervals, on one axis of ratios: twice and half are equally far from no change."""

import math
from collections.abc import Iterator, Sequence

from anubis.analysis.quantities import effect_text, percent
from anubis.reporting.charts import svg
from anubis.reporting.charts.axes import Axis
from anubis.reporting.charts.data import IntervalChart, IntervalRow
from anubis.reporting.charts.frame import CHARACTER
from anubis.reporting.charts.series import SIGNS

ROW = 24.0
#: Effects at which the axis can have labels.
_LABELLED = (-0.99, -0.9, -0.75, -0.5, -0.2, -0.1, -0.05, -0.02, -0.01, -0.001)
#: The smallest ratio that is drawn: effects below it are at the end of the axis.
_LEAST = 1e-3


def intervals_svg(chart: IntervalChart, *, width: float = 720) -> str:
    """One row for each metric, with its effect in figures and its verdict as a word."""
    label_width = min(240.0, 16 + CHARACTER * max((len(row.label) for row in chart.rows), default=0))
    axis = _axis(chart, label_width, width - 270)
    height = 44 + ROW * max(1, len(chart.rows)) + 22
    bottom = height - 24
    parts = [svg.text(f"{chart.title} (effect and 95 % interval)", 8, 16, "heading")]
    if chart.min_effect > 0:
        low, high = axis.at(_log(-chart.min_effect)), axis.at(_log(chart.min_effect))
        about = f"changes below {percent(chart.min_effect)} % do not count"
        parts.append(svg.box(low, 28, high - low, bottom - 28, "small", title=about))
    parts += _labels(axis, bottom)
    for at, row in enumerate(chart.rows):
        parts += _row(row, axis, 46 + at * ROW, label_width, width)
    if not chart.rows:
        parts.append(svg.text("nothing was compared", width / 2, 50, "note", anchor="middle"))
    return svg.picture((width, height), parts, "intervals", title=chart.title, description=chart.description)


def _log(effect: float) -> float:
    """The position of an effect: the logarithm of the ratio, limited where it has none."""
    if math.isnan(effect):
        return 0.0
    return math.log(min(max(1 + effect, _LEAST), 1 / _LEAST))


def _axis(chart: IntervalChart, start: float, end: float) -> Axis:
    shown = [chart.min_effect, -chart.min_effect, 0.01, -0.01]
    for row in chart.rows:
        shown += [each for each in (row.effect, *(row.interval or ())) if each is not None]
    places = [_log(each) for each in shown]
    wide = max(abs(min(places)), abs(max(places))) * 1.08
    return Axis(-wide, wide, start, end)


def _labels(axis: Axis, bottom: float) -> Iterator[str]:
    zero = axis.at(0.0)
    yield svg.line(zero, 28, zero, bottom, "axis")
    yield svg.text("0", zero, bottom + 16, "tick", anchor="middle")
    for candidates in (_LABELLED, [-effect / (1 + effect) for effect in _LABELLED]):
        taken = zero
        sign = -1 if candidates is _LABELLED else 1
        for effect in sorted(candidates, key=abs):
            at = axis.at(_log(effect))
            if abs(_log(effect)) > axis.high or abs(at - taken) < 56:
                continue
            label = f"{100 * effect:+.3g} %"
            yield svg.line(at, 28, at, bottom, "grid")
            yield svg.text(label, at, bottom + 16, "tick", anchor="middle")
            taken = max(taken, at) if sign > 0 else min(taken, at)


def _row(row: IntervalRow, axis: Axis, y: float, label_width: float, width: float) -> Sequence[str]:
    most = round((label_width - 16) / CHARACTER) + 1
    inside = [svg.text(row.label, 8, y + 4, "name", most=max(4, most))]
    figures = "no value on one side"
    if row.effect is not None:
        at = axis.at(_log(row.effect))
        interval = (row.interval[0], row.interval[1]) if row.interval else None
        if interval:
            low, high = (axis.at(_log(end)) for end in interval)
            inside.append(svg.line(low, y, max(high, low + 1), y, "whisker"))
            inside.append(svg.path(svg.dots([(at, y)]), "dots"))
        else:
            inside.append(svg.path(svg.rings([(at, y)], 3.5), "rings"))
        figures = effect_text(row.effect, interval)
    text = f"{figures}  {SIGNS[row.tone]} {row.verdict}"
    inside.append(svg.text(text, width - 258, y + 4, "figures", most=46))
    return [f'<g class="{row.tone.value}">', *inside, "</g>"]
