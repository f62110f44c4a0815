"""``anubis history``: stored runs and their values."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from anubis.analysis import quantities
from anubis.api.runs import row_to_json
from anubis.cli import terminal
from anubis.cli.families import key_text
from anubis.cli.home import open_client
from anubis.cli.params import REF, SCHEDULE, json_option, mapping, run_filters
from anubis.cli.select import refs
from anubis.cli.select.unknown_names import unknown_name
from anubis.cli.views import json_output, tables, units
from anubis.cli.views.status_text import status_cell, took, values_line
from anubis.contracts.runs import RunQuery, RunRow
from anubis.model.status import Status
from anubis.record.layout import is_run_id

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
@click.option("--schedule", type=SCHEDULE, metavar="SCHEDULE", help="Only runs of this schedule.")
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
@json_option
def history(
    *,
    name: str | None,
    commit: str | None,
    labels: tuple[tuple[str, str], ...],
    metric: str | None,
    statuses: tuple[Status, ...],
    since: float | None,
    until: float | None,
    family: str | None,
    schedule: str | None,
    limit: int,
    after: str | None,
    as_json: bool,
) -> None:
    """List runs with their values, the newest first."""
    with open_client() as client:
        query = RunQuery(
            name=name,
            subject=commit,
            labels=mapping(labels),
            metric=metric,
            statuses=statuses,
            family_id=refs.family_id(client, family) if family else None,
            parent_id=_schedule_id(client, schedule) if schedule else None,
            since_s=since,
            until_s=until,
            limit=limit,
            after=client.runs.get(after).id if after else None,
        )
        rows = client.runs.find(query)
        unknown = (
            None if rows else unknown_name(client, benchmark=name, metric=metric, labels=mapping(labels))
        )
        only_ids = terminal.preferences.quiet and not as_json
        short = {} if only_ids or as_json else client.runs.short_ids([row.id for row in rows])
    if only_ids:
        for row in rows:
            terminal.line(row.id)
    elif as_json:
        json_output.show_list(row_to_json(row) for row in rows)
    elif rows:
        _show(rows, short, metric)
    else:
        terminal.line("no runs")
        terminal.no_match(unknown)


def _show(rows: Sequence[RunRow], short: Mapping[str, str], metric: str | None) -> None:
    """One line for each run; with ``metric`` its value has a separate column."""
    last = (
        [tables.Column(title=metric.upper(), right=True), tables.Column(title="")]
        if metric
        else [tables.Column(title="VALUES", cut=True)]
    )
    tables.show([*_COLUMNS, *last], [[short[row.id], *_about(row), *_values(row, metric)] for row in rows])


def _about(row: RunRow) -> list[tables.Cell]:
    return [
        units.moment(row.created_s)
        if terminal.width() is None
        else units.short_moment(row.created_s, now_s=time.time()),
        " ".join([row.name, *([cell] if (cell := key_text(tuple(row.cell.items()))) else [])]),
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


def _schedule_id(client: "Client", schedule: str) -> str:
    """The id of a schedule. A full id need not be stored: the runs of a deleted schedule remain."""
    return schedule if is_run_id(schedule) else client.schedules.get(schedule).id
