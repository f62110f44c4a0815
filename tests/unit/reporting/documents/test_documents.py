"""Every format of a report, with hostile text in every place."""

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from anubis.api.publishing.reports import document_from_json, document_to_json
from anubis.reporting.charts.data import ChartPoint, SeriesChart, Tone
from anubis.reporting.documents import html, markdown, sheets
from anubis.reporting.documents.document import (
    Block,
    Column,
    Document,
    Fact,
    Section,
    Table,
    number_cell,
    text_cell,
)

HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "[a](http://evil.example) ![b](http://evil.example/x.png) <b> @team #1 | x",
    '=HYPERLINK("http://evil.example")',
    "\x1b[31m\x00\u202e",
    "www.evil.example https://evil.example",
]
TEXTS = st.one_of(st.text(), st.sampled_from(HOSTILE))


def a_document(text="text", value=1.5):
    table = Table(
        title=text,
        columns=(
            Column(title=text),
            Column(title="Value", is_number=True),
            Column(title="Unit", data_only=True),
        ),
        rows=(
            (text_cell(text, tone=Tone.WORSE), number_cell(value, f"{value} s"), text_cell("s")),
            (replace(text_cell(""), spark=(1.0, None, value)), number_cell(None, ""), text_cell("")),
        ),
    )
    chart = SeriesChart(title=text, description=text, points=(ChartPoint(x=1.0, value=value, label=text),))
    return Document(
        title=text,
        verdict=text,
        tone=Tone.WORSE,
        made_s=1e9,
        sections=(
            Section(
                title=text,
                blocks=(
                    Block(text=text),
                    Block(facts=(Fact(name=text, text=text),)),
                    Block(table=table),
                    Block(series=chart),
                    Block(code=text),
                ),
            ),
            Section(title="second", blocks=(Block(table=replace(table, rows=())),)),
        ),
    )


class Found(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


PLAIN = Found(html.page(a_document()))


@settings(deadline=None, max_examples=60)
@given(text=TEXTS, value=st.floats())
def test_text_from_outside_adds_no_element(text, value):
    page = Found(html.page(a_document(text or "x", value)))
    assert set(page.tags) <= set(PLAIN.tags)
    assert page.tags.count("script") == 2
    assert not any(name.startswith("on") for name in page.attributes)


def test_a_page_makes_no_request_and_runs_only_its_script():
    page = html.page(a_document())
    policy = re.search('Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#x27;", "'")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r'(?:src|href)="?(?:http|//)', page)
    assert "style=" not in re.sub("<script.*?</script>", "", page, flags=re.DOTALL)


def test_a_page_without_charts_has_no_script():
    page = html.page(Document(title="t", verdict="v", made_s=0.0))
    assert "<script" not in page
    assert "script-src 'none'" in page.replace("&#x27;", "'")


def test_a_cell_with_a_tone_has_a_sign_too():
    page = html.page(a_document())
    assert '<span class="tone worse">▼ text</span>' in page
    assert "| ▼ text | 1.5 s |" in markdown.text(a_document())


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_shows_text_and_interprets_none(text):
    content = markdown.text(a_document(text))
    read = MarkdownIt("commonmark").enable("table").render(content)
    found = Found(read)
    assert set(found.tags) <= {
        "h1",
        "h2",
        "p",
        "strong",
        "ul",
        "li",
        "code",
        "pre",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert "@team" not in re.sub("<(code|pre).*?</(code|pre)>", "", read, flags=re.DOTALL)


def test_csv_has_exact_numbers_and_no_formula():
    rows = list(csv.reader(io.StringIO(sheets.csv_text(a_document("=1+1", 0.1 + 0.2)))))
    assert rows[0] == ["=1+1: =1+1".replace("=", "'=", 1)]
    assert rows[1] == ["'=1+1", "Value", "Unit"]
    assert rows[2] == ["'=1+1", "0.30000000000000004", "s"]
    assert rows[3][0] == "1.0  0.30000000000000004"
    assert rows[4] == []
    assert rows[5] == ["'second: =1+1" if rows[5][0].startswith("'") else "second: =1+1"]


@settings(deadline=None, max_examples=30)
@given(text=TEXTS, value=st.floats())
def test_a_workbook_has_numbers_text_and_no_formula(text, value):
    stream = io.BytesIO()
    sheets.write_workbook(a_document(text, value), stream)
    book = openpyxl.load_workbook(stream)
    assert book.sheetnames[0] == "Report"
    assert len(set(book.sheetnames)) == 3
    for sheet in book:
        for row in sheet:
            assert all(cell.data_type != "f" for cell in row)
    shown = book.worksheets[1]["B2"].value
    assert shown == (pytest.approx(value, rel=1e-14) if abs(value) <= sheets.LARGEST else f"{value} s")


@settings(deadline=None)
@given(text=TEXTS, value=st.floats(allow_nan=False, allow_infinity=False))
def test_the_json_of_a_report_is_read_back(text, value):
    document = a_document(text, value)
    assert document_from_json(json.loads(json.dumps(document_to_json(document)))) == document
