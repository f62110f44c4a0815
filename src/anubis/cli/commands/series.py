"""``anubis series``: how each metric of each benchmark went, on each kind of machine."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from anubis.cli.commands.alerts import alert_json, show_table
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import PAIR, json_option, mapping
from anubis.cli.views import json_output, series_view, tables
from anubis.model.errors import NotFoundError

if TYPE_CHECKING:
    from anubis.judging.series_overview import SeriesOverview


def _narrowing(function: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in reversed(
        (
            click.option(
                "--label",
                "labels",
                type=PAIR,
                multiple=True,
                metavar="KEY=VALUE",
                help="Only benchmarks with this label; repeatable.",
            ),
            click.option(
                "--machine", default="", metavar="ID", help="Only this machine, by its fingerprint."
            ),
            click.option(
                "--series", "key", default="", metavar="ID", help="Only series whose key begins so."
            ),
        )
    ):
        function = decorate(function)
    return function


@click.group(cls=ListGroup)
def series() -> None:
    """Look at histories: levels, noise, what could be detected, and every change of level.

    Without a command: all of them.
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
    """List series: points, level, noise (one deviation), the smallest shift that ten more points confirm."""
    found = _found(benchmark, metric, labels, machine, key)
    if as_json:
        json_output.show_list(series_view.row_json(one) for one in found)
    elif found:
        tables.show(series_view.COLUMNS, series_view.rows(found))
    else:
        click.echo("no series")


@series.command()
@click.argument("benchmark", metavar="BENCHMARK")
@click.option("--metric", help="Needed where the benchmark has several.")
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
    found = _found(benchmark, metric, labels, machine, key)
    if len(found) != 1:
        raise _not_one(found, benchmark)
    (one,) = found
    if as_json:
        json_output.show(
            {
                **series_view.row_json(one),
                "changes": series_view.changes_json(one),
                "points": [asdict(p) for p in one.points],
            }
        )
        return
    for line in series_view.picture(one):
        click.echo(line)


@series.command()
@click.option("--benchmark", metavar="NAME", help="Only series of this benchmark.")
@click.option("--tell", is_flag=True, help="Tell those who asked for it in the descriptors.")
@json_option
def analyse(*, benchmark: str | None, tell: bool, as_json: bool) -> None:
    """Judge all of history again: after an import, after runs were purged, after an upgrade.

    Alerts are opened, brought up to date and resolved; nobody hears of it unless --tell is given.
    """
    with open_client() as client:
        changed = client.series.analyse(benchmark=benchmark, notify=tell)
    if as_json:
        json_output.show_list(alert_json(alert) for alert in changed)
    elif changed:
        show_table(changed)
    else:
        click.echo("no alert is different now")


def _found(
    benchmark: str | None, metric: str | None, labels: tuple[tuple[str, str], ...], machine: str, key: str
) -> "list[SeriesOverview]":
    with open_client() as client:
        found = client.series.find(benchmark=benchmark, metric=metric)
    return [
        one
        for one in found
        if one.points[-1].fingerprint.startswith(machine)
        and one.points[-1].series_key.startswith(key)
        and mapping(labels).items() <= one.labels.items()
    ]


def _not_one(found: "Sequence[SeriesOverview]", benchmark: str) -> NotFoundError:
    if not found:
        return NotFoundError(f"no such series of {benchmark}", remedy="anubis series lists them")
    points = [one.points[-1] for one in found]
    for option, values in (
        ("--metric", {point.metric for point in points}),
        ("--series", {point.series_key[:8] for point in points}),
        ("--machine", {point.fingerprint[:8] for point in points}),
    ):
        if len(values) > 1:
            return NotFoundError(
                f"{benchmark} has {len(found)} such series",
                remedy=f"choose with {option}: {', '.join(sorted(values))}",
            )
    return NotFoundError(
        f"{benchmark} has values in several units", remedy="look at them with anubis history"
    )
