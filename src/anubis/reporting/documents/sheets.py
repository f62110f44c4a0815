"""The tables of a report as CSV or as an Excel workbook. Numbers are exact; no text becomes a formula."""

import csv
import io
import re
from importlib import import_module
from typing import Any, BinaryIO

from anubis.model.errors import BadInputError
from anubis.reporting.documents.document import Cell, Document, Table, tables_of
from anubis.reporting.markup import visible

#: Programs for sheets take text that begins so for a formula.
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NOT_IN_NAMES = re.compile(r"[\[\]:*?/\\']")
#: The largest number that Excel stores (Microsoft, "Excel specifications and limits"); larger ones are texts.
LARGEST = 9.99999999999999e307
#: Longest name of a sheet, and longest text of a cell, in Excel.
_NAME, _TEXT = 31, 32_767


def csv_text(document: Document) -> str:
    """All tables (RFC 4180); if there are several, each after a line with its title, with an empty line between them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    tables = tables_of(document)
    for at, (title, table) in enumerate(tables):
        if len(tables) > 1:
            writer.writerows([[], [safe(title)]] if at else [[safe(title)]])
        writer.writerow([safe(column.title) for column in table.columns])
        for row in table.rows:
            writer.writerow([_field(cell) for cell in row])
    return out.getvalue()


def safe(text: str) -> str:
    """Text that no program takes for a formula: an apostrophe is put before it."""
    line = visible(text)
    return f"'{line}" if _FORMULA.match(line) else line


def _field(cell: Cell) -> str:
    if cell.value is not None:
        return repr(cell.value)
    if cell.spark:
        return " ".join("" if value is None else repr(value) for value in cell.spark)
    return safe(cell.text)


def write_workbook(document: Document, stream: BinaryIO) -> None:
    """Write a workbook with a sheet for each table, after one with the verdict. Raises BadInputError without the library."""
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    try:
        xlsxwriter: Any = import_module("xlsxwriter")
    except ImportError as error:
        raise BadInputError(
            "the format xlsx needs the library XlsxWriter", remedy="install anubis-bench[xlsx]"
        ) from error
    book = xlsxwriter.Workbook(stream, options)
    names: set[str] = set()
    bold = book.add_format({"bold": True})
    summary = book.add_worksheet(_name("Report", names))
    for at, text in enumerate((document.title, document.verdict)):
        summary.write_string(at, 0, visible(text)[:_TEXT], bold)
    for at, (title, table) in enumerate(tables_of(document)):
        sheet = book.add_worksheet(_name(title or f"Table {at + 1}", names))
        _fill(sheet, table, bold)
    book.close()


def _fill(sheet: Any, table: Table, bold: Any) -> None:
    for at, column in enumerate(table.columns):
        sheet.write_string(0, at, visible(column.title)[:_TEXT], bold)
        widest = max((len(row[at].text) for row in table.rows), default=0)
        sheet.set_column(at, at, min(60, max(widest, len(column.title)) + 2))
    for down, row in enumerate(table.rows, 1):
        for at, cell in enumerate(row):
            if cell.value is not None and abs(cell.value) <= LARGEST:
                sheet.write_number(down, at, cell.value)
            elif cell.spark:
                sheet.write_string(down, at, _field(cell)[:_TEXT])
            else:
                sheet.write_string(down, at, visible(cell.text)[:_TEXT])
    sheet.freeze_panes(1, 1)
    if table.rows:
        sheet.autofilter(0, 0, len(table.rows), len(table.columns) - 1)


def _name(title: str, taken: set[str]) -> str:
    """A name that Excel accepts and no other sheet has, without regard to case."""
    # a name is counted in UTF-16, in which a character beyond the first plane is two
    plain = "".join(char for char in visible(title).replace("\n", " ") if ord(char) < 0x10000)
    base = _NOT_IN_NAMES.sub(" ", plain).strip()[:_NAME].strip() or "Table"
    name, number = base, 1
    while name.lower() in taken or name.lower() == "history":
        number += 1
        name = f"{base[: _NAME - len(str(number)) - 1]} {number}"
    taken.add(name.lower())
    return name
