"""What a report contains, as plain data; each format has one writer."""

import math
from dataclasses import dataclass

from anubis.reporting.charts.data import (
    DistributionChart,
    HeatChart,
    IntervalChart,
    SeriesChart,
    Tone,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table."""

    title: str
    #: Whether its cells are numbers, aligned on the right.
    is_number: bool = False
    #: Whether only data formats (csv, xlsx, json) have it: what a cell for people contains already, such as a unit.
    data_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of a table."""

    #: For people: with its unit, rounded.
    text: str = ""
    #: For programs: the exact number; None: the cell is not a number.
    value: float | None = None
    tone: Tone = Tone.NEUTRAL
    #: Address, relative to the page; empty: no link.
    link: str = ""
    #: Newest values of a series, drawn as a small line.
    spark: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table. Every row has one cell for each column."""

    title: str = ""
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    #: Shown in place of an empty table.
    empty: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A named property."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of a section; exactly one of its fields is set."""

    text: str = ""
    facts: tuple[Fact, ...] = ()
    table: Table | None = None
    series: SeriesChart | None = None
    intervals: IntervalChart | None = None
    distribution: DistributionChart | None = None
    heat: HeatChart | None = None
    #: Lines of text whose spaces matter: a descriptor, commands.
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Blocks under a heading."""

    title: str
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A report: the verdict first, then the evidence."""

    title: str
    #: The verdict in one sentence.
    verdict: str
    tone: Tone = Tone.NEUTRAL
    #: When it was made; UTC seconds. None: that is not shown.
    made_s: float | None
    sections: tuple[Section, ...] = ()


def text_cell(text: str, *, tone: Tone = Tone.NEUTRAL, link: str = "") -> Cell:
    """A cell with text."""
    return Cell(text=text, tone=tone, link=link)


def number_cell(value: float | None, text: str, *, tone: Tone = Tone.NEUTRAL) -> Cell:
    """A cell with a number and its text for people; a number that is missing or not finite is not a value."""
    known = value is not None and math.isfinite(value)
    return Cell(text=text, value=value if known else None, tone=tone)


def tables_of(document: Document) -> list[tuple[str, Table]]:
    """Every table with its title, which begins with that of its section."""
    found = []
    for section in document.sections:
        for block in section.blocks:
            if block.table is not None:
                parts = [section.title, block.table.title]
                found.append((": ".join(part for part in parts if part), block.table))
    return found
