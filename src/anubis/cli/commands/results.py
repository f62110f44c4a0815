"""``anubis results``: the values of a run and their samples."""

import csv
import sys
from collections.abc import Sequence
from typing import Any

import click

from anubis.api.points import samples_to_json, summary_to_json
from anubis.api.runs import run_to_json
from anubis.cli.home import open_client
from anubis.cli.params import json_option, ref_argument
from anubis.cli.views import json_output, remarks, tables, units, values_view
from anubis.cli.views.overrides_view import overrides_text
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.points import SampleBlock
from anubis.reporting import name_suggestions
from anubis.reporting.status_words import WORDS

_SAMPLE_FIELDS = ("time_s", "repeat", "step", "value")


@click.command()
@ref_argument
@click.option(
    "--samples", "metric", metavar="METRIC", help="Show the samples of this metric instead of the values."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
def results(*, ref: str, metric: str | None, as_csv: bool, as_json: bool) -> None:
    """Show the values of a run.

    A value is the median over the repeats, its spread their standard deviation. Warm-ups do not count; --samples
    also shows their samples, with a negative repeat.
    """
    if as_csv and as_json:
        raise BadInputError("--csv and --json cannot be combined", remedy="use one of them")
    with open_client() as client:
        run = client.runs.get(ref)
        if metric is not None:
            try:
                block = client.results.samples(run.id, metric)
            except NotFoundError as error:
                known = [summary.metric for summary in client.results.summaries(run.id)]
                raise NotFoundError(
                    f"run {run.id} has no samples of {metric!r}",
                    remedy=name_suggestions.remedy(metric, known, otherwise=f"see anubis results {run.id}"),
                ) from error
            _show_samples(block, as_csv=as_csv, as_json=as_json)
            return
        points, summaries = client.results.points([run.id]), client.results.summaries(run.id)
        events = client.runs.events(run.id)
    if as_json:
        samples = [summary_to_json(summary) for summary in summaries]
        said = {"remarks": remarks.as_json(events), "samples": samples}
        json_output.show({**run_to_json(run, points), **said})
    elif as_csv:
        _write_csv(
            ("metric", "value", "units", "spread", "repeats"),
            ((p.metric, p.value, p.units, "" if p.spread is None else p.spread, p.count) for p in points),
        )
    elif points:
        values_view.show(points, summaries)
        for line in remarks.lines(events):
            click.echo(line)
        if run.overrides:
            click.echo(f"overrides: {overrides_text(run.overrides)}")
    else:
        click.echo(
            f"run {run.id} ({WORDS[run.status]}) has no values" + (f": {run.reason}" if run.reason else "")
        )


def _show_samples(block: SampleBlock, *, as_csv: bool, as_json: bool) -> None:
    if as_json:
        json_output.show_list(samples_to_json(block))
    elif as_csv:
        rows = samples_to_json(block)
        _write_csv(_SAMPLE_FIELDS, ([row[name] for name in _SAMPLE_FIELDS] for row in rows))
    else:
        columns = [tables.Column(title=name.upper(), right=True) for name in ("time", "repeat", "step")]
        title = block.metric if block.units == "none" else f"{block.metric} [{block.units}]"
        tables.show(
            [*columns, tables.Column(title=title, right=True)],
            [
                [
                    units.exact_moment(row["time_s"]),
                    str(row["repeat"]),
                    "" if row["step"] is None else str(row["step"]),
                    f"{row['value']:.10g}",
                ]
                for row in samples_to_json(block)
            ],
        )


def _write_csv(fields: Sequence[str], rows: Any) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(fields)
    writer.writerows(rows)
