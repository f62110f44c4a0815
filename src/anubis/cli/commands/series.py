"""``anubis series``: all points of each metric over time, on each kind of machine."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from anubis.api.alerts import alert_to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import Renamed, json_option, labels_option, mapping
from anubis.cli.select.series_choice import not_one
from anubis.cli.select.unknown_names import unknown_name
from anubis.cli.views import alerts_view, json_output, series_view, tables
from anubis.late import late
from anubis.model.errors import NotFoundError

if TYPE_CHECKING:
    from anubis.api import series as api_series
    from anubis.judging import series_overview
    from anubis.judging.series_overview import SeriesOverview
else:  # numpy and scipy
    series_overview = late("anubis.judging.series_overview")
    api_series = late("anubis.api.series")


def _narrowing(function: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in reversed(
        (
            labels_option("Only benchmarks with this label"),
            click.option(
                "--machine", default="", metavar="ID", help="Only this machine, by its fingerprint."
            ),
            click.option(
                "--series", "key", default="", metavar="ID", help="Only series whose key has this prefix."
            ),
        )
    ):
        function = decorate(function)
    return function


@click.group(cls=ListGroup)
def series() -> None:
    """Show series: levels, noise, detectable effects, and every change of level.

    Without a command: list all series.
    """


@series.command(name="list")
@click.option("--benchmark", metavar="NAME", help="Only series of this benchmark.")
@click.option("--metric", help="Only this metric.")
@_narrowing
@json_option
def listed(
    *,
    benchmark: str | None,
    metric: str | None,
    labels: tuple[tuple[str, str], ...],
    machine: str,
    key: str,
    as_json: bool,
) -> None:
    """List series: points, level, noise (one standard deviation), the smallest shift that ten more points confirm.

    Each series is judged by its newest 200 runs; N ends with + if there are more. The command show uses all of them.
    """
    newest = series_overview.LISTED_RUNS
    overviews = _matching(benchmark, metric, labels, machine, key, newest=newest)
    if as_json:
        json_output.show_list(api_series.series_row_to_json(one) for one in overviews)
    elif overviews:
        tables.show(series_view.COLUMNS, series_view.rows(overviews))
    else:
        terminal.line("no series")
        terminal.no_match(_unknown(benchmark, metric, labels))


@series.command()
@click.argument("benchmark", metavar="BENCHMARK")
@click.option("--metric", help="Metric to show; required if the benchmark has several.")
@_narrowing
@json_option
def show(
    *,
    benchmark: str,
    metric: str | None,
    labels: tuple[tuple[str, str], ...],
    machine: str,
    key: str,
    as_json: bool,
) -> None:
    """Draw one series, and list its changes of level."""
    overviews = _matching(benchmark, metric, labels, machine, key, newest=series_overview.MOST_RUNS)
    if len(overviews) != 1:
        with open_client() as client:
            newest = [each.points[-1] for each in overviews]
            raise _unknown(benchmark, metric, labels) or not_one(client, newest, benchmark)
    (one,) = overviews
    if as_json:
        json_output.show(api_series.series_to_json(one))
        return
    for line in series_view.picture(one):
        terminal.line(line)


@series.command()
@click.option("--benchmark", metavar="NAME", help="Only series of this benchmark.")
@click.option(
    "--notify", "--tell", cls=Renamed, is_flag=True, help="Notify the receivers named in the descriptors."
)
@json_option
def analyse(*, benchmark: str | None, notify: bool, as_json: bool) -> None:
    """Judge all series again: after an import, a purge or an upgrade.

    Opens, updates and resolves alerts; sends notices only with --notify.
    """
    with open_client() as client:
        changed = client.series.analyse(benchmark=benchmark, notify=notify)
    if as_json:
        json_output.show_list(alert_to_json(alert) for alert in changed)
    elif changed:
        alerts_view.show(changed)
    else:
        terminal.line("no alert changed")
        terminal.no_match(_unknown(benchmark))


def _matching(
    benchmark: str | None,
    metric: str | None,
    labels: tuple[tuple[str, str], ...],
    machine: str,
    key: str,
    *,
    newest: int,
) -> "list[SeriesOverview]":
    with open_client() as client:
        overviews = client.series.find(benchmark=benchmark, metric=metric, newest=newest)
    return [
        one
        for one in overviews
        if one.points[-1].fingerprint.startswith(machine)
        and one.points[-1].series_key.startswith(key)
        and mapping(labels).items() <= one.labels.items()
    ]


def _unknown(
    benchmark: str | None, metric: str | None = None, labels: tuple[tuple[str, str], ...] = ()
) -> NotFoundError | None:
    with open_client() as client:
        return unknown_name(client, benchmark=benchmark, metric=metric, labels=mapping(labels))
