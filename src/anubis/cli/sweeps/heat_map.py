"""A heat map of one metric over two axes, as text."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any

from anubis.analysis import quantities
from anubis.cli.views import tables
from anubis.suites.sweep_table import Combination

#: From the lowest to the highest value.
SHADES = "░▒▓█"
#: A combination without a value.
GAP = "·"


def heat_map(
    combinations: Sequence[Combination], metric: str, *, rows: str | None = None, columns: str | None = None
) -> Iterator[str]:
    """The lines of the map; none if the sweep has fewer than two axes with several values.

    Axes that are not named are those with the most values. Values over further axes are averaged. The title of an axis
    names it too, if it is the only one with that title. Raises KeyError for an axis that the sweep does not have.
    """
    axes: dict[str, list[Any]] = {}
    for each in combinations:
        for axis, value in each.values.items():
            known = axes.setdefault(axis, [])
            if value not in known:
                known.append(value)
    rows, columns = (named and _axis(named, axes) for named in (rows, columns))
    wide = sorted((axis for axis in axes if len(axes[axis]) > 1), key=lambda axis: -len(axes[axis]))
    free = [axis for axis in wide if axis not in {rows, columns}]
    across = columns or (free.pop(0) if free else None)
    down = rows or (free.pop(0) if free else None)
    if across is None or down is None or across == down:
        return
    values = _values(combinations, metric, down, across)
    if not values:
        return
    units = next(each.metrics[metric].units for each in combinations if metric in each.metrics)
    factor, unit = quantities.common_scale(list(values.values()), units)
    low, high = min(values.values()), max(values.values())
    over = f", mean over {', '.join(axis for axis in free)}" if free else ""
    yield f"{metric}{f' [{unit}]' if unit else ''}: {down} down, {across} across{over}"
    titles = [tables.Column(title="")] + [
        tables.Column(title=str(value), right=True) for value in axes[across]
    ]
    body: list[list[tables.Cell]] = []
    for row in axes[down]:
        found = [values.get((str(row), str(column))) for column in axes[across]]
        shown = [
            GAP if value is None else f"{_shade(value, low, high)} {quantities.number(value * factor)}"
            for value in found
        ]
        body.append([str(row), *shown])
    yield from tables.lines(titles, body, width=None)
    yield f"{SHADES[0]} lowest  {SHADES[-1]} highest  {GAP} no value"


def _axis(named: str, axes: Iterable[str]) -> str:
    found = [axis for axis in axes if axis == named] or [
        axis for axis in axes if tables.last_part(axis) == named.upper()
    ]
    if len(found) != 1:
        raise KeyError(named)
    return found[0]


def _values(
    combinations: Sequence[Combination], metric: str, down: str, across: str
) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], list[float]] = {}
    for each in combinations:
        if metric in each.metrics and down in each.values and across in each.values:
            place = str(each.values[down]), str(each.values[across])
            found.setdefault(place, []).append(each.metrics[metric].mean)
    return {place: fmean(values) for place, values in found.items()}


def _shade(value: float, low: float, high: float) -> str:
    if high <= low:
        return SHADES[-1]
    return SHADES[min(len(SHADES) - 1, int((value - low) / (high - low) * len(SHADES)))]
