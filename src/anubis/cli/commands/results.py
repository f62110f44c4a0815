"""``anubis results``: the values of a run and the samples behind them."""

import csv
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from anubis.cli.home import open_client
from anubis.cli.params import json_option, ref_argument
from anubis.cli.views import json_output, tables, units
from anubis.cli.views.status_text import own_last
from anubis.contracts.points import MetricSummary
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.points import NO_STEP, Point, SampleBlock

_COLUMNS = (
    tables.Column(title="METRIC"),
    tables.Column(title="VALUE", right=True),
    tables.Column(title="UNIT"),
    tables.Column(title="SPREAD", right=True),
    tables.Column(title="REPEATS", right=True),
    tables.Column(title="SAMPLES", right=True),
    tables.Column(title="MIN", right=True),
    tables.Column(title="MAX", right=True),
)
_SAMPLE_FIELDS = ("time_s", "repeat", "step", "value")


@click.command()
@ref_argument
@click.option(
    "--samples", "metric", metavar="METRIC", help="The samples of this metric instead of the values."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
def results(*, ref: str, metric: str | None, as_csv: bool, as_json: bool) -> None:
    """Show what a run measured.

    A value is the median over the repeats, its spread their standard deviation. Samples of warm-ups have a
    negative repeat.
    """
    if as_csv and as_json:
        raise BadInputError("--csv and --json exclude one another", remedy="give one of them")
    with open_client() as client:
        run = client.runs.get(ref)
        if metric is not None:
            known = [summary.metric for summary in client.results.summaries(run.id)]
            if metric not in known:
                raise NotFoundError(
                    f"run {run.id} has no samples of {metric!r}",
                    remedy=f"it has: {', '.join(known)}" if known else f"see anubis show {run.id}",
                )
            block = client.results.samples(run.id, metric)
            _show_samples(block, as_csv=as_csv, as_json=as_json)
            return
        points, summaries = client.results.points([run.id]), client.results.summaries(run.id)
    if as_json:
        json_output.show(
            {**json_output.run_json(run, points), "samples": [_summary_json(s) for s in summaries]}
        )
    elif as_csv:
        _write_csv(
            ("metric", "value", "units", "spread", "repeats"),
            ((p.metric, p.value, p.units, "" if p.spread is None else p.spread, p.count) for p in points),
        )
    elif points:
        show_points(points, summaries)
    else:
        click.echo(
            f"run {run.id} ({run.status.value}) has no values" + (f": {run.reason}" if run.reason else "")
        )


def show_points(points: Sequence[Point], summaries: Sequence[MetricSummary]) -> None:
    """The table of a run's values."""
    behind = {summary.metric: summary for summary in summaries}
    ordered = sorted(points, key=lambda point: own_last(point.metric))
    tables.show(_COLUMNS, [_row(point, behind.get(point.metric)) for point in ordered])
    if any(point.contaminated for point in points):
        click.echo("* the machine was disturbed meanwhile: see anubis show")


def _row(point: Point, summary: MetricSummary | None) -> list[tables.Cell]:
    factor, unit = units.scale_of(point.value, point.units)
    mark = " *" if point.contaminated else ""
    relative = abs(point.spread / point.value) if point.spread is not None and point.value else None
    row: list[tables.Cell] = [
        point.metric + mark,
        units.number(point.value * factor),
        unit,
        "" if relative is None else units.share(relative),
        str(point.count),
    ]
    if summary is None or summary.count <= point.count:
        return [*row, "", "", ""]
    extremes = [units.number(value * factor) for value in (summary.min, summary.max)]
    return [*row, str(summary.count), *extremes]


def _show_samples(block: SampleBlock, *, as_csv: bool, as_json: bool) -> None:
    if as_json:
        json_output.show_list(
            {"metric": block.metric, "units": block.units, **row} for row in _samples(block)
        )
    elif as_csv:
        _write_csv(_SAMPLE_FIELDS, (row.values() for row in _samples(block)))
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
                for row in _samples(block)
            ],
        )


def _samples(block: SampleBlock) -> Iterator[dict[str, Any]]:
    columns = zip(block.times_s, block.repeats, block.steps, block.values, strict=True)
    for time_s, repeat, step, value in columns:
        fields = (time_s, repeat, None if step == NO_STEP else step, value)
        yield dict(zip(_SAMPLE_FIELDS, fields, strict=True))


def _summary_json(summary: MetricSummary) -> dict[str, Any]:
    return {
        "metric": summary.metric,
        "units": summary.units,
        "count": summary.count,
        "last": summary.last,
        "min": summary.min,
        "max": summary.max,
        "mean": summary.mean,
    }


def _write_csv(fields: Sequence[str], rows: Any) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(fields)
    writer.writerows(rows)
