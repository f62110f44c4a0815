"""``anubis report``: a file for people who do not use Anubis."""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.output_file import written
from anubis.cli.params import MOMENT, json_option
from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.reporting.markup import visible_json

if TYPE_CHECKING:
    from anubis.api.publishing import reports as api_reports
    from anubis.publishing import request as requests
    from anubis.reporting.documents import html, markdown, sheets
    from anubis.reporting.documents.document import Document
else:  # numpy and scipy
    api_reports = late("anubis.api.publishing.reports")
    requests = late("anubis.publishing.request")
    html = late("anubis.reporting.documents.html")
    markdown = late("anubis.reporting.documents.markdown")
    sheets = late("anubis.reporting.documents.sheets")

FORMATS = ("html", "md", "csv", "json", "xlsx")


@click.command()
@click.argument("name", required=False, default="", metavar="[RUN|BENCHMARK|ALERT|FAMILY]")
@click.option("--family", is_flag=True, help="The family of the run, as a matrix.")
@click.option("--daily", is_flag=True, help="The average of every metric over the last day, by benchmark.")
@click.option(
    "--since",
    type=MOMENT,
    metavar="TIME",
    help="Start of the period: 7d, 2026-01-31 (default: 7d; daily: 1d).",
)
@click.option("--until", type=MOMENT, metavar="TIME", help="End of the period (default: now).")
@click.option(
    "--group-by", default="", metavar="LABEL", help="Sections of a period, one for each value of this label."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Format (default: that of the ending of --output, else md).",
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Default: standard output."
)
@json_option
def report(
    *,
    name: str,
    family: bool,
    daily: bool,
    since: float | None,
    until: float | None,
    group_by: str,
    form: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Write a report about a run, a benchmark, an alert or a family; without a name, about a period.

    The report of a period lists what became better, worse and unstable, and what failed. An HTML report is one file
    without any request; its charts zoom without a network.
    """
    _check(name, family=family, is_period=daily or since is not None or until is not None or bool(group_by))
    form = "json" if as_json else form or _form_of(output)
    if form == "xlsx" and output is None and terminal.interactive():
        raise BadInputError("xlsx cannot be shown on a terminal", remedy="name a file with --output")
    kind = None
    if daily or family:
        kind = requests.ReportKind.DAILY if daily else requests.ReportKind.FAMILY
    with open_client() as client:
        if family:
            run = client.runs.get(name)
            if run.family_id is None:
                raise BadInputError(f"the run {name} has no family", remedy="leave --family out")
            name = run.family_id
        request = requests.ReportRequest(
            kind=kind, name=name, since_s=since, until_s=until, group_by=group_by
        )
        document = client.reports.make(request)
    content = _content(document, form)
    with written(output) as stream:
        stream.write(content)


def _check(name: str, *, family: bool, is_period: bool) -> None:
    if family and not name:
        raise BadInputError("--family needs a run", remedy="name a run of the family, for example @last")
    if name and is_period:
        raise BadInputError(
            "a name and a period (--since, --until, --daily, --group-by) are both given",
            remedy="leave one of them out: only the report without a name is about a period",
        )


def _form_of(output: Path | None) -> str:
    ending = "" if output is None else output.suffix.removeprefix(".").lower()
    return {"htm": "html", "markdown": "md"}.get(ending, ending if ending in FORMATS else "md")


def _content(document: "Document", form: str) -> bytes:
    if form == "xlsx":
        stream = io.BytesIO()
        sheets.write_workbook(document, stream)
        return stream.getvalue()
    if form == "html":
        text = html.page(document)
    elif form == "csv":
        text = sheets.csv_text(document)
    elif form == "json":
        plain = api_reports.document_to_json(document)
        text = visible_json(json.dumps(plain, indent=2, ensure_ascii=False)) + "\n"
    else:
        text = markdown.text(document)
    return text.encode(errors="replace")
