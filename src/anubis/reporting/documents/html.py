"""A report as HTML: one file without any request, with charts that zoom. Readable without the script, and on paper."""

import base64
import hashlib
import time
from collections.abc import Iterable, Iterator
from html import escape

from anubis.reporting.charts import figure
from anubis.reporting.charts.data import Tone
from anubis.reporting.charts.distribution import distribution_svg
from anubis.reporting.charts.heat import heat_svg
from anubis.reporting.charts.intervals import intervals_svg
from anubis.reporting.charts.sparkline import sparkline
from anubis.reporting.documents.document import Block, Cell, Column, Document, Section, Table
from anubis.reporting.markup import visible

#: Signs of tones in tables, so that no meaning depends on colour.
_SIGNS = {Tone.BETTER: "▲ ", Tone.WORSE: "▼ ", Tone.CHANGED: "◆ ", Tone.NEUTRAL: "", Tone.UNSURE: "? "}


def page(document: Document) -> str:
    """The report as one file: its policy allows only its own style sheet and script."""
    style, script = styles(), figure.scripts() if _has_charts(document) else ""
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script) if script else _NONE}"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}"><style>{style}</style>'
    foot = f"<script>{script}</script>" if script else ""
    return framed(document.title, body(document), head=head, foot=foot)


_NONE = "'none'"


def framed(title: str, content: str, *, head: str, foot: str = "") -> str:
    """A complete HTML page."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{shown(title)}</title>{head}</head>'
        f"<body>{content}{foot}</body></html>\n"
    )


def styles() -> str:
    """The style sheet of reports, with that of charts."""
    return f"{figure.styles()}\n{figure.asset('reports.css')}"


def body(document: Document, *, run_link: str = "", more: str = "") -> str:
    """The content of the page with ``more`` after it; points of charts lead to ``run_link`` followed by the id of the run."""
    made = ""
    if document.made_s is not None:
        at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(document.made_s))
        made = f'<p class="made">made at {at}</p>'
    head = (
        f'<header><h1>{shown(document.title)}</h1><p class="verdict {document.tone.value}">'
        f"{_SIGNS[document.tone]}{shown(document.verdict)}</p>"
        f"{made}</header>"
    )
    return f"<main>{head}{''.join(_section(each, run_link) for each in document.sections)}{more}</main>"


def shown(text: str) -> str:
    """Text from outside as the content of an element or attribute; control characters are visible."""
    return escape(visible(text))


def _digest(content: str) -> str:
    """The source expression of an inline element with this content."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _has_charts(document: Document) -> bool:
    return any(block.series for section in document.sections for block in section.blocks)


def _section(section: Section, run_link: str) -> str:
    blocks = "".join(part for block in section.blocks for part in _block(block, run_link))
    return f"<section><h2>{shown(section.title)}</h2>{blocks}</section>"


def _block(block: Block, run_link: str) -> Iterator[str]:
    if block.text:
        yield f"<p>{shown(block.text)}</p>"
    if block.facts:
        rows = "".join(f"<dt>{shown(fact.name)}</dt><dd>{shown(fact.text)}</dd>" for fact in block.facts)
        yield f"<dl>{rows}</dl>"
    if block.table:
        yield _table(block.table)
    if block.series:
        yield figure.series_figure(block.series, link=run_link)
    if block.intervals:
        yield f"<figure>{intervals_svg(block.intervals)}</figure>"
    if block.distribution:
        yield f"<figure>{distribution_svg(block.distribution)}</figure>"
    if block.heat:
        yield f"<figure>{heat_svg(block.heat)}</figure>"
    if block.code:
        yield f"<pre>{shown(block.code)}</pre>"


def _table(table: Table) -> str:
    caption = f"<caption>{shown(table.title)}</caption>" if table.title else ""
    if not table.rows:
        return f"<p>{shown(': '.join(part for part in (table.title, table.empty) if part))}</p>"
    columns = [(at, column) for at, column in enumerate(table.columns) if not column.data_only]
    titles = "".join(f'<th scope="col"{_right(column)}>{shown(column.title)}</th>' for _, column in columns)
    rows = "".join(f"<tr>{''.join(_cells(row, columns))}</tr>" for row in table.rows)
    # a wide table scrolls in its frame, which the keyboard must reach
    return f'<div class="wide" tabindex="0"><table>{caption}<thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cells(row: tuple[Cell, ...], columns: Iterable[tuple[int, Column]]) -> Iterator[str]:
    for at, column in columns:
        cell = row[at]
        inside = shown(cell.text)
        if cell.spark:
            inside += sparkline(cell.spark, title=f"last {len(cell.spark)} values", tone=cell.tone)
        elif cell.tone is not Tone.NEUTRAL:
            inside = f'<span class="tone {cell.tone.value}">{_SIGNS[cell.tone]}{inside}</span>'
        if cell.link:
            inside = f'<a href="{shown(cell.link)}">{inside}</a>'
        yield f"<td{_right(column)}>{inside}</td>"


def _right(column: Column) -> str:
    return ' class="number"' if column.is_number else ""
