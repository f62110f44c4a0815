"""``anubis history``: stored runs and their values."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from anubis.analysis import quantities
from anubis.api.runs import row_to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.params import REF, json_option, mapping, run_filters
from anubis.cli.views import json_output, tables, units
from anubis.cli.views.status_text import status_cell, took, values_line
from anubis.contracts.runs import RunQuery, RunRow
from anubis.model.errors import BadInputError
from anubis.model.ids import short_id
from anubis.model.status import Status

if TYPE_CHECKING:
    from anubis.client import Client

_COLUMNS = (
    tables.Column(title="RUN"),
    tables.Column(title="SUBMITTED"),
    tables.Column(title="NAME", cut=True),
    tables.Column(title="SUBJECT", cut=True),
    tables.Column(title="STATUS"),
    tables.Column(title="TOOK", right=True),
)


@click.command()
@run_filters
@click.option("--metric", help="Only runs with a value of this metric, and only its values.")
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="Show only the newest N runs.",
)
@click.option(
    "--after", type=REF, metavar="RUN", help="Continue after this run, the last one of the previous page."
)
@click.option("--quiet", "-q", is_flag=True, help="Print only the full ids.")
@json_option
def history(
    *,
    name: str | None,
    labels: tuple[tuple[str, str], ...],
    metric: str | None,
    statuses: tuple[str, ...],
    since: float | None,
    until: float | None,
    family: str | None,
    limit: int,
    after: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """List runs with their values, the newest first."""
    with open_client() as client:
        query = RunQuery(
            name=name,
            labels=mapping(labels),
            metric=metric,
            statuses=tuple(Status(status) for status in statuses),
            family_id=_family_id(client, family) if family else None,
            since_s=since,
            until_s=until,
            limit=limit,
            after=client.runs.get(after).id if after else None,
        )
        rows = client.runs.find(query)
    if quiet:
        for row in rows:
            click.echo(row.id)
    elif as_json:
        json_output.show_list(row_to_json(row) for row in rows)
    elif rows:
        _show(rows, metric)
    else:
        click.echo("no runs")


def _family_id(client: "Client", ref: str) -> str:
    run = client.runs.get(ref)
    if run.family_id is None:
        raise BadInputError(f"run {run.id} is not part of a family", remedy="remove --family")
    return run.family_id


def _show(rows: Sequence[RunRow], metric: str | None) -> None:
    """One line for each run; with ``metric`` its value has a separate column."""
    last = (
        [tables.Column(title=metric.upper(), right=True), tables.Column(title="")]
        if metric
        else [tables.Column(title="VALUES", cut=True)]
    )
    tables.show([*_COLUMNS, *last], [[*_about(row), *_values(row, metric)] for row in rows])


def _about(row: RunRow) -> list[tables.Cell]:
    return [
        short_id(row.id),
        units.moment(row.created_s)
        if terminal.width() is None
        else units.short_moment(row.created_s, now_s=time.time()),
        row.name,
        row.subject,
        status_cell(row.status),
        took(row.placed_s, row.ended_s),
    ]


def _values(row: RunRow, metric: str | None) -> list[str]:
    if metric is None:
        return [values_line(row.values) or row.reason]
    if metric not in row.values:
        return ["", ""]
    value, unit = row.values[metric]
    return [quantities.number(value), "" if unit == "none" else unit]
