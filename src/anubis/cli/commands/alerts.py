"""``anubis alerts``: what changed for good, and what people decided about it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import click

from anubis.analysis.verdict_text import effect_text
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import SPAN, json_option
from anubis.cli.views import json_output, tables, units
from anubis.judging.alert_triage import TriageAction
from anubis.model.alert import Alert, AlertKind, AlertState
from anubis.model.errors import BadInputError
from anubis.model.run import Event
from anubis.reporting import alert_text
from anubis.reporting.markup import one_line, short_subject

#: What somebody has something to decide about, or has put off.
CURRENT = (AlertState.CONFIRMED, AlertState.ACKNOWLEDGED, AlertState.MUTED)

_COLUMNS = (
    tables.Column(title="ALERT"),
    tables.Column(title="STATE"),
    tables.Column(title="KIND"),
    tables.Column(title="BENCHMARK", cut=True),
    tables.Column(title="SINCE", cut=True),
    tables.Column(title="METRIC", cut=True),
    tables.Column(title="EFFECT"),
    tables.Column(title="CHANGED"),
    tables.Column(title="WHY", cut=True),
)
_BAD = {AlertKind.REGRESSION, AlertKind.FAILURE, AlertKind.THRESHOLD, AlertKind.DRIFT}


@click.group(cls=ListGroup)
def alerts() -> None:
    """Look at alerts and decide about them: one for each level shift, over all metrics that it moved.

    Without a command: those that are open.
    """


@alerts.command(name="list")
@click.option("--all", "everything", is_flag=True, help="Also suspected, accepted and resolved ones.")
@click.option("--benchmark", metavar="NAME", help="Only those of this benchmark.")
@json_option
def listed(*, everything: bool, benchmark: str | None, as_json: bool) -> None:
    """List open alerts, the newest first."""
    with open_client() as client:
        found = client.alerts.find(states=() if everything else CURRENT, benchmark=benchmark)
    if as_json:
        json_output.show_list(alert_json(alert) for alert in found)
    elif found:
        show_table(found)
    else:
        click.echo("no alerts" if everything else "no open alerts")


@alerts.command()
@click.argument("alert_id", metavar="ALERT")
@json_option
def show(*, alert_id: str, as_json: bool) -> None:
    """Show every metric of an alert, what to do next, and everything that was decided about it."""
    with open_client() as client:
        alert, trail = client.alerts.get(alert_id)
    if as_json:
        json_output.show({**alert_json(alert), "trail": [json_output.event_json(event) for event in trail]})
        return
    click.echo(alert_text.text(alert), nl=False)
    click.echo()
    click.secho("what happened", bold=True)
    for event in trail:
        click.echo(f"  {_told(event)}")


def _decision(ruling: TriageAction, text: str) -> Callable[..., Any]:
    """The command of one ruling; only a muting has an end."""

    def decided(*, alert_id: str, why: str | None, as_json: bool, until: float | None = None) -> None:
        until_s = None if until is None else time.time() + until
        if why is None and not terminal.can_ask():
            raise BadInputError("the decision has no reason", remedy="say why: --why TEXT")
        why = click.prompt("Why", err=True) if why is None else why
        with open_client() as client:
            alert = client.alerts.decide(alert_id, ruling, why=why, until_s=until_s)
        if as_json:
            json_output.show(alert_json(alert))
        else:
            click.echo(f"{alert.id}  {alert.state}  {alert_text.title(alert, with_state=False)}")

    options: list[Callable[..., Any]] = [
        click.argument("alert_id", metavar="ALERT"),
        click.option(
            "--why", metavar="TEXT", help="Kept with your name and the time; asked for on a terminal."
        ),
        json_option,
    ]
    if ruling is TriageAction.MUTE:
        end = click.option(
            "--until", type=SPAN, required=True, metavar="SPAN", help="For how long: 12h, 7d, 2w."
        )
        options.append(end)
    command: Callable[..., Any] = decided
    for decorate in reversed(options):
        command = decorate(command)
    return alerts.command(name=ruling.value, help=text)(command)


ack = _decision(TriageAction.ACK, "Say that you look after an alert.")
accept = _decision(TriageAction.ACCEPT, "Make the new level the baseline: the change is meant.")
mute = _decision(TriageAction.MUTE, "Tell nobody about an alert for a while.")
resolve = _decision(
    TriageAction.RESOLVE, "Close an alert: it is over, or never was; the same shift opens it no more."
)
reopen = _decision(TriageAction.REOPEN, "Take back whatever was decided about an alert.")


def show_table(found: Sequence[Alert]) -> None:
    """A line for each alert."""
    tables.show(_COLUMNS, map(_cells, found))


def alert_json(alert: Alert) -> dict[str, Any]:
    """An alert as scripts read it; effects are ratios minus one."""
    return {"title": alert_text.title(alert), **asdict(alert)}


def _cells(alert: Alert) -> Sequence[tables.Cell]:
    first = max(alert.rows, key=lambda row: (row.kind is alert.kind, abs(row.effect)), default=None)
    more = len(alert.rows) - 1
    metric = "" if first is None else one_line(first.metric, 60) + (f" and {more} more" if more else "")
    colour = "red" if alert.kind in _BAD else "green" if alert.kind is AlertKind.IMPROVEMENT else "yellow"
    return [
        alert.id,
        alert.state.value,
        tables.Styled(alert.kind.value, colour),
        one_line(alert.benchmark, 60),
        short_subject(alert.first_new),
        metric,
        "" if first is None else effect_text(first.effect, first.interval),
        units.short_moment(alert.changed_s, now_s=time.time()),
        one_line(alert.why, 80),
    ]


def _told(event: Event) -> str:
    who = f" by {one_line(event.actor, 60)}" if event.actor else ""
    told = f" (told {', '.join(map(one_line, event.data['to']))})" if event.data.get("to") else ""
    return f"{units.moment(event.time_s)}  {one_line(event.message)}{who}{told}"
