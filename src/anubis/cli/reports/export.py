"""``anubis export``: the values of runs for other tools, and static sites."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anubis.cli import terminal
from anubis.cli.commands.exchange import show_problems
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.output_file import written
from anubis.cli.params import json_option, mapping, run_filters
from anubis.cli.select import refs
from anubis.cli.select.unknown_names import unknown_name
from anubis.cli.views import json_output, units
from anubis.contracts.runs import RunQuery
from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.model.status import Status

if TYPE_CHECKING:
    from anubis.api import histories as api_histories
    from anubis.publishing.site import folder as site_folder
    from anubis.publishing.site import pages as site_pages
else:  # the formats of other tools; numpy and scipy
    api_histories = late("anubis.api.histories")
    site_folder = late("anubis.publishing.site.folder")
    site_pages = late("anubis.publishing.site.pages")

#: Runs of an export: all of them.
EVERYTHING = 1_000_000_000


class _Group(ListGroup):
    listing = "values"


@click.group(cls=_Group)
def export() -> None:
    """Write stored values for other tools, or a static site.

    Without a command: the values of runs.
    """


@export.command()
@click.option(
    "--format", "form", default="csv", show_default=True, help="csv, jsonl, parquet, bmf, openmetrics."
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Default: standard output."
)
@run_filters
@click.option("--metric", help="Only values of this metric.")
@json_option
def values(
    *,
    form: str,
    output: Path | None,
    name: str | None,
    commit: str | None,
    labels: tuple[tuple[str, str], ...],
    metric: str | None,
    statuses: tuple[Status, ...],
    since: float | None,
    until: float | None,
    family: str | None,
    as_json: bool,
) -> None:
    """Write the values of stored runs for other tools. The filters are those of anubis history.

    A CSV export contains everything that anubis import needs. --json describes the written file: path, format and
    problems.
    """
    if output is None and as_json:
        raise BadInputError("--json needs a file for the values", remedy="name it with --output")
    if output is None and form == "parquet" and terminal.interactive():
        raise BadInputError("parquet cannot be shown on a terminal", remedy="name a file with --output")
    conditions = RunQuery(
        name=name,
        subject=commit,
        labels=mapping(labels),
        metric=metric,
        statuses=statuses,
        since_s=since,
        until_s=until,
        limit=EVERYTHING,
        newest_first=False,
    )
    with open_client() as client, written(output) as stream:
        query = replace(conditions, family_id=refs.family_id(client, family)) if family else conditions
        problems = client.histories.export(query, stream, format_name=form)
        empty = not client.runs.find(replace(query, limit=1))
        unknown = (
            unknown_name(client, benchmark=name, metric=metric, labels=mapping(labels)) if empty else None
        )
    if as_json:
        json_output.show(api_histories.exported_to_json(str(output), form, problems))
    else:
        show_problems(tuple(problems))
        terminal.no_match(unknown)


@export.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@json_option
def site(*, folder: Path, as_json: bool) -> None:
    """Write a static site of all series, which any web server can serve; it opens from a disk too.

    Calling it again writes only the files that changed. Every file is replaced as a whole, and the index is the last,
    so a site that is served meanwhile is never incomplete.
    """
    with open_client() as client:
        overviews, alerts = client.series.find(), client.alerts.find()
    pages = site_pages.Site(overviews, alerts, made_s=time.time())
    done = site_folder.write_site(folder, pages.names, pages.files())
    if as_json:
        json_output.show(
            {
                "folder": str(folder),
                "written": done.written,
                "unchanged": done.unchanged,
                "removed": done.removed,
            }
        )
        return
    terminal.line(
        f"{folder / site_pages.INDEX}: {units.counted(len({one.benchmark for one in overviews}), 'benchmark')},"
        f" {units.counted(done.written, 'file')} written, {done.unchanged} unchanged, {done.removed} removed"
    )
