"""A report as Markdown for chats and pull requests. Text from outside is shown and never interpreted."""

from collections.abc import Iterator

from anubis.reporting.charts.data import Tone
from anubis.reporting.documents.document import Block, Cell, Document, Table
from anubis.reporting.markup import code, one_line, visible

#: Most rows of a table.
MAX_ROWS = 100
_SIGNS = {Tone.BETTER: "▲ ", Tone.WORSE: "▼ ", Tone.CHANGED: "◆ ", Tone.NEUTRAL: "", Tone.UNSURE: "? "}
_BARS = "▁▂▃▄▅▆▇█"


def text(document: Document) -> str:
    """The report: headings, tables, and the descriptions of charts."""
    parts = [f"# {plain(document.title)}", f"**{_SIGNS[document.tone]}{plain(document.verdict)}**"]
    for section in document.sections:
        blocks = [part for block in section.blocks for part in _block(block)]
        if blocks:
            parts += [f"## {plain(section.title)}", *blocks]
    return "\n\n".join(parts) + "\n"


def plain(content: str, max_chars: int = 400) -> str:
    """Text on one line in which no character is markup, a mention, a link or HTML."""
    line = one_line(content, max_chars).replace("|", "¦")
    escaped = "".join(f"\\{char}" if char in "\\`*_{}[]<>#~!&" else char for char in line)
    # a mention and an address begin with these; a space of no width ends them
    return escaped.replace("@", "@\u200b").replace("://", ":\u200b//").replace("www.", "www\u200b.")


def _block(block: Block) -> Iterator[str]:
    if block.text:
        yield plain(block.text)
    if block.facts:
        yield "\n".join(f"- {plain(fact.name)}: {code(fact.text, 200)}" for fact in block.facts)
    if block.table:
        yield _table(block.table)
    for chart in (block.series, block.intervals, block.distribution, block.heat):
        if chart and chart.description:
            yield f"{plain(chart.title)}: {plain(chart.description)}"
    if block.code:
        yield "\n".join(f"    {visible(line)}" for line in block.code.splitlines())


def _table(table: Table) -> str:
    title = [f"**{plain(table.title)}**"] if table.title else []
    if not table.rows:
        return "\n\n".join([*title, plain(table.empty)])
    columns = [(at, column) for at, column in enumerate(table.columns) if not column.data_only]
    lines = [
        f"| {' | '.join(plain(column.title) for _, column in columns)} |",
        f"|{'|'.join('---:' if column.is_number else '---' for _, column in columns)}|",
    ]
    lines += [f"| {' | '.join(_cell(row[at]) for at, _ in columns)} |" for row in table.rows[:MAX_ROWS]]
    more = [f"and {len(table.rows) - MAX_ROWS} more rows"] if len(table.rows) > MAX_ROWS else []
    return "\n\n".join([*title, "\n".join(lines), *more])


def _cell(cell: Cell) -> str:
    if cell.spark:
        return bars(cell.spark)
    sign = _SIGNS[cell.tone] if cell.tone is not Tone.NEUTRAL else ""
    return f"{sign}{plain(cell.text, 120)}"


def bars(values: tuple[float | None, ...], most: int = 30) -> str:
    """The newest values as bars; a missing value is a space."""
    newest = values[-most:]
    known = [value for value in newest if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    span = high / 2 - low / 2
    steps = len(_BARS) - 1
    return "".join(
        " "
        if value is None
        else _BARS[round((value / 2 - low / 2) / span * steps) if span > 0 else steps // 2]
        for value in newest
    )
