"""Both sides of a comparison as strips of dots over one axis: a dot for each run, a bar for the median."""

from collections.abc import Iterator, Sequence
from statistics import median

from anubis.analysis import quantities
from anubis.cli import terminal
from anubis.model.verdict import Sides

#: Number of values in one cell -> character.
_DOTS = {0: " ", 1: ".", 2: ":"}
_MANY = "#"
_MEDIAN = "|"
_COLOURS = ("blue", "magenta")
WIDEST = 60


def strips(
    sides: Sides, *, names: tuple[str, str] = ("baseline", "contender"), width: int = 80
) -> Iterator[str]:
    """Four lines: the metric, one strip for each side, the axis. Nothing if a side has no value."""
    if not sides.baseline or not sides.contender:
        return
    everything = (*sides.baseline, *sides.contender)
    low, high = min(everything), max(everything)
    label = max(map(len, names))
    columns = max(10, min(WIDEST, width - label - 4))
    middles = [median(side) for side in (sides.baseline, sides.contender)]
    factor, unit = quantities.common_scale(middles, sides.units)
    yield f"{sides.metric} [{unit}]" if unit else sides.metric
    for name, values, colour in zip(names, (sides.baseline, sides.contender), _COLOURS, strict=True):
        strip = "".join(_strip(values, low, high, columns)).rstrip()
        yield f"  {name.rjust(label)}  {terminal.style(strip, fg=colour)}"
    left, right = (quantities.number(value * factor) for value in (low, high))
    yield f"  {' ' * label}  {left}{right.rjust(columns - len(left))}"


def _strip(values: Sequence[float], low: float, high: float, columns: int) -> Iterator[str]:
    counts = [0] * columns
    for value in values:
        counts[_column(value, low, high, columns)] += 1
    middle = _column(median(values), low, high, columns)
    for at, count in enumerate(counts):
        yield _MEDIAN if at == middle else _DOTS.get(count, _MANY)


def _column(value: float, low: float, high: float, columns: int) -> int:
    if high <= low:
        return columns // 2
    return min(columns - 1, int((value - low) / (high - low) * columns))
