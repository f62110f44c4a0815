"""Tables with aligned columns, cut to the width of the terminal; complete if the output is piped."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from anubis.cli import terminal
from anubis.reporting.markup import visible_line

GAP = "  "
#: No column is cut below this many characters.
NARROWEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table."""

    title: str
    #: Align at the right, for numbers.
    right: bool = False
    #: May be cut if the terminal is too narrow.
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Styled:
    """A cell with a colour; its width is that of its text."""

    text: str
    colour: str


Cell = str | Styled


def show(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> None:
    """Print a table on standard output."""
    for line in lines(columns, rows, width=terminal.width()):
        terminal.line(line)


def lines(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, width: int | None) -> Iterator[str]:
    """The table's lines, its titles first; ``width`` None: cut nothing.

    A column that is empty in every row is left out.
    """
    kept = [list(row) for row in rows]
    filled = [at for at, _ in enumerate(columns) if any(_text(row[at]) for row in kept)]
    shown = [columns[at] for at in filled]
    cells: list[list[Cell]] = [[row[at] for at in filled] for row in kept]
    widths = [
        max([len(column.title), *(len(_text(row[at])) for row in cells)]) for at, column in enumerate(shown)
    ]
    if width is not None:
        _narrow(shown, widths, width)
    titles: list[Cell] = [column.title for column in shown]
    yield terminal.style(_line(shown, widths, titles), bold=True)
    for row in cells:
        yield _line(shown, widths, row)


def last_part(axis: str) -> str:
    """The title of the column of a matrix axis: ``THREADS`` for ``env.vars.THREADS``."""
    return axis.rpartition(".")[2].upper() or axis


def pairs(rows: Iterable[tuple[str, str]], *, width: int | None = None) -> Iterator[str]:
    """``name  value`` lines with aligned values, folded to ``width``; pairs without a value are left out."""
    kept = [(visible_line(name), visible_line(value)) for name, value in rows if value]
    indent = max((len(name) for name, _ in kept), default=0)
    for name, value in kept:
        first, *more = folded(value, None if width is None else width - indent - len(GAP))
        yield f"{terminal.style(name.ljust(indent), dim=True)}{GAP}{first}"
        yield from (f"{' ' * indent}{GAP}{line}" for line in more)


def folded(text: str, width: int | None) -> list[str]:
    """The text in lines of at most ``width`` characters, broken between words; a longer word stays whole."""
    if width is None or len(text) <= width:
        return [text]
    return wrap(text, max(width, NARROWEST), break_long_words=False, break_on_hyphens=False) or [""]


def _text(cell: Cell) -> str:
    return visible_line(cell.text if isinstance(cell, Styled) else cell)


def _narrow(columns: Sequence[Column], widths: list[int], width: int) -> None:
    """Narrow the columns that may be cut, the widest first, until the table fits."""
    spare = width - sum(widths) - len(GAP) * (len(widths) - 1)
    while spare < 0:
        cuttable = [at for at, column in enumerate(columns) if column.cut and widths[at] > NARROWEST]
        if not cuttable:
            return
        widest = max(cuttable, key=widths.__getitem__)
        widths[widest] -= 1
        spare += 1


def _line(columns: Sequence[Column], widths: Sequence[int], row: Sequence[Cell]) -> str:
    parts = []
    for at, (column, width, cell) in enumerate(zip(columns, widths, row, strict=True)):
        text = clipped(_text(cell), width) if column.cut else _text(cell)
        last = at == len(columns) - 1
        padded = text.rjust(width) if column.right else text if last else text.ljust(width)
        parts.append(terminal.style(padded, fg=cell.colour) if isinstance(cell, Styled) else padded)
    return GAP.join(parts).rstrip()


def clipped(text: str, width: int) -> str:
    """The text in at most ``width`` characters; ``..`` marks a cut."""
    return text if len(text) <= width else f"{text[: max(0, width - 2)]}.."
