"""A matrix as a heat map: the best cell is outlined, failed cells are hatched, missing ones are empty."""

import math
from collections.abc import Iterator, Mapping

from anubis.analysis.quantities import number
from anubis.reporting.charts import svg
from anubis.reporting.charts.axes import LOG_FROM
from anubis.reporting.charts.data import HeatCell, HeatChart
from anubis.reporting.charts.frame import CHARACTER, Scale, heading, scale_for

CELL_WIDTH, CELL_HEIGHT = 84.0, 30.0
#: Shades, from the lowest to the highest value.
SHADES = 9


def heat_svg(chart: HeatChart) -> str:
    """Rows and columns of values. The number is in every cell, so that it can be read without colours."""
    scale = scale_for([cell.value for cell in chart.cells], chart.units)
    left = 24 + CHARACTER * min(30, max(map(len, (chart.row_axis, *chart.rows)), default=0))
    width = max(360.0, left + CELL_WIDTH * len(chart.columns) + 12)
    height = 66 + CELL_HEIGHT * len(chart.rows) + 26
    values = [value for cell in chart.cells if (value := scale.of(cell.value)) is not None]
    log = bool(values) and min(values) > 0 and max(values) / min(values) >= LOG_FROM
    title = heading(chart.title, scale.unit, chart.better)
    parts = [
        svg.text(title, 8, 16, "heading"),
        svg.text(chart.row_axis, left - 8, 58, "axis-name", anchor="end", most=30),
        svg.text(chart.column_axis, left + 4, 36, "axis-name"),
    ]
    for at, column in enumerate(chart.columns):
        middle = left + CELL_WIDTH * (at + 0.5)
        parts.append(svg.text(column, middle, 58, "tick", anchor="middle", most=12))
    by_place = {(cell.row, cell.column): cell for cell in chart.cells}
    best = _best(chart, scale)
    for down, row in enumerate(chart.rows):
        top = 66 + CELL_HEIGHT * down
        parts.append(svg.text(row, left - 8, top + 19, "tick", anchor="end", most=30))
        parts += _row(chart, row, by_place, (left, top), (values, log, best, scale))
    notes = "outlined: best" if best is not None else "no best cell: the metric has no direction"
    parts.append(svg.text(f"{notes}; hatched: failed; empty: not measured", 8, height - 8, "note"))
    return svg.picture((width, height), parts, "heat", title=title, description=chart.description)


def _best(chart: HeatChart, scale: Scale) -> float | None:
    """The best value; None if the metric has no direction."""
    values = [value for cell in chart.cells if (value := scale.of(cell.value)) is not None]
    if not values or chart.better not in ("higher", "lower"):
        return None
    return max(values) if chart.better == "higher" else min(values)


def _row(
    chart: HeatChart,
    row: str,
    cells: Mapping[tuple[str, str], HeatCell],
    corner: tuple[float, float],
    looks: tuple[list[float], bool, float | None, Scale],
) -> Iterator[str]:
    values, log, best, scale = looks
    for at, column in enumerate(chart.columns):
        left, top = corner[0] + CELL_WIDTH * at, corner[1]
        cell = cells.get((row, column), HeatCell(row=row, column=column))
        about = f"{row}, {column}: "
        value = scale.of(cell.value)
        if cell.failure:
            yield svg.box(
                left + 1,
                top + 1,
                CELL_WIDTH - 2,
                CELL_HEIGHT - 2,
                "failed",
                title=f"{about}failed: {cell.failure}",
            )
            yield svg.path(_hatching(left, top), "hatching")
            yield svg.text("failed", left + CELL_WIDTH / 2, top + 19, "value", anchor="middle")
        elif value is None:
            yield svg.box(
                left + 1, top + 1, CELL_WIDTH - 2, CELL_HEIGHT - 2, "missing", title=f"{about}not measured"
            )
        else:
            shade = _shade(value, values, log=log)
            kind = f"cell shade-{shade}{' best' if value == best else ''}"
            label = number(value)
            yield svg.box(
                left + 2,
                top + 2,
                CELL_WIDTH - 4,
                CELL_HEIGHT - 4,
                kind,
                title=f"{about}{label} {scale.unit}".rstrip(),
            )
            text = f"value{' on-dark' if shade >= 5 else ''}"
            yield svg.text(label, left + CELL_WIDTH / 2, top + 19, text, anchor="middle")


def _shade(value: float, values: list[float], *, log: bool) -> int:
    low, high = min(values), max(values)
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    if high <= low:
        return 0
    return min(SHADES - 1, int((value / 2 - low / 2) / (high / 2 - low / 2) * SHADES))


def _hatching(left: float, top: float) -> str:
    """The steps of diagonal lines in a cell."""
    bottom = top + CELL_HEIGHT - 2
    starts = (left + 2 + 14 * at for at in range(int((CELL_WIDTH - CELL_HEIGHT) // 14) + 1))
    return "".join(
        f"M{svg.number(start)} {svg.number(bottom)}L{svg.number(start + CELL_HEIGHT - 4)} {svg.number(top + 2)}"
        for start in starts
    )
