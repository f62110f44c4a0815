"""A series as a chart in the terminal: a dot for each point, a line for each level, a bar where a level begins."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from anubis.analysis import quantities
from anubis.cli import terminal

HEIGHT = 12
WIDEST = 100
POINT, LEVEL, CHANGE = ".", "-", "|"
_COLOURS = {LEVEL: "blue", CHANGE: "yellow"}


def chart(
    values: Sequence[float], changes: Sequence[int], *, unit: str, width: int, modes: Sequence[float] = ()
) -> Iterator[str]:
    """The unit, then ``HEIGHT`` lines; the first and the last have the highest and the lowest value as labels.

    ``values`` are at least one, ``changes`` the first points of new levels, ascending. If there are more points
    than columns, a column shows the lowest and the highest of its points. Each of ``modes`` is a line after the last
    change, in place of the level.
    """
    low, high = min(values), max(values)
    factor, shown = quantities.scale_of(max(abs(low), abs(high)), unit)
    top, bottom = quantities.number(high * factor), quantities.number(low * factor)
    indent = max(len(top), len(bottom))
    columns = max(1, min(WIDEST, width - indent - 2, len(values)))
    yield f"{' ' * indent}  {shown}".rstrip()
    for number, line in enumerate(_grid(values, changes, columns, modes)):
        label = {0: top, HEIGHT - 1: bottom}.get(number, "")
        drawn = "".join(
            terminal.style(char, fg=_COLOURS[char]) if char in _COLOURS else char for char in line
        )
        yield f"{label.rjust(indent)}  {drawn}".rstrip()


def _grid(
    values: Sequence[float], changes: Sequence[int], columns: int, modes: Sequence[float]
) -> list[list[str]]:
    """Rows of characters: levels first, bars over them, points over both."""
    low, high = min(values), max(values)
    grid = [[" "] * columns for _ in range(HEIGHT)]

    def row(value: float) -> int:
        return HEIGHT // 2 if high <= low else round((high - value) / (high - low) * (HEIGHT - 1))

    def column(at: int) -> int:
        return at * columns // len(values)

    for start, end in pairwise([0, *changes, len(values)]):
        own = modes if modes and end == len(values) else [median(values[start:end])]
        for level in own:
            for at in range(column(start), column(end - 1) + 1):
                grid[row(min(max(level, low), high))][at] = LEVEL
    for change in changes:
        for line in grid:
            line[column(change)] = CHANGE
    for at, value in enumerate(values):
        grid[row(value)][column(at)] = POINT
    return grid
