"""``anubis alerts``: confirmed changes, and decisions about them."""

import time
from collections.abc import Callable
from typing import Any

import click

from anubis.api.alerts import alert_to_json, delivery_to_json
from anubis.api.runs import event_to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import SPAN, Renamed, json_option
from anubis.cli.select.unknown_names import unknown_name
from anubis.cli.views import alerts_view, json_output, units
from anubis.judging.alert_triage import TriageAction
from anubis.model.alert import AlertState
from anubis.model.errors import BadInputError
from anubis.model.run import Event
from anubis.reporting import alert_text
from anubis.reporting.markup import one_line, person

#: States of open alerts: those that need a decision now or later.
CURRENT = (AlertState.CONFIRMED, AlertState.ACKNOWLEDGED, AlertState.MUTED)


@click.group(cls=ListGroup)
def alerts() -> None:
    """Show alerts and decide about them. One alert covers one level shift in all affected metrics.

    Without a command: list the open alerts.
    """


@alerts.command(name="list")
@click.option("--all", "everything", is_flag=True, help="Include suspected, accepted and resolved alerts.")
@click.option("--benchmark", metavar="NAME", help="Only those of this benchmark.")
@json_option
def listed(*, everything: bool, benchmark: str | None, as_json: bool) -> None:
    """List open alerts, the newest first."""
    with open_client() as client:
        matching = client.alerts.find(states=() if everything else CURRENT, benchmark=benchmark)
        unknown = None if matching else unknown_name(client, benchmark=benchmark)
    if as_json:
        json_output.show_list(alert_to_json(alert) for alert in matching)
    elif matching:
        alerts_view.show(matching)
    else:
        terminal.line("no alerts" if everything else "no open alerts")
        terminal.no_match(unknown)


@alerts.command()
@click.argument("alert_id", metavar="ALERT")
@json_option
def show(*, alert_id: str, as_json: bool) -> None:
    """Show every metric of an alert, the next steps, and all decisions about it."""
    with open_client() as client:
        alert, trail = client.alerts.get(alert_id)
        deliveries = client.alerts.deliveries(alert.id)
    if as_json:
        json_output.show(
            {
                **alert_to_json(alert),
                "trail": [event_to_json(event) for event in trail],
                "deliveries": [delivery_to_json(delivery) for delivery in deliveries],
            }
        )
        return
    terminal.line(alert_text.text(alert, alert_text.decisions(alert)), nl=False)
    terminal.line()
    terminal.line(terminal.style("history", bold=True))
    for event in trail:
        terminal.line(f"  {_event_line(event)}")
    if deliveries:
        terminal.line()
        alerts_view.show_deliveries(deliveries)


def _decision(action: TriageAction, text: str) -> Callable[..., Any]:
    """The command of one decision; only ``mute`` has an end time."""

    def decided(*, alert_id: str, why: str | None, as_json: bool, span_s: float | None = None) -> None:
        until_s = None if span_s is None else time.time() + span_s
        if why is None and not terminal.can_ask():
            raise BadInputError("the decision has no reason", remedy="give a reason: --why TEXT")
        why = click.prompt("Why", err=True) if why is None else why
        with open_client() as client:
            alert = client.alerts.decide(alert_id, action, why=why, until_s=until_s)
        if as_json:
            json_output.show(alert_to_json(alert))
        else:
            terminal.line(f"{alert.id}  {alert.state}  {alert_text.title(alert, with_state=False)}")

    options: list[Callable[..., Any]] = [
        click.argument("alert_id", metavar="ALERT"),
        click.option(
            "--why",
            metavar="TEXT",
            help="Reason, stored with your name and the time; a terminal asks for it.",
        ),
        json_option,
    ]
    if action is TriageAction.MUTE:
        end = click.option(
            "--for",
            "--until",
            "span_s",
            cls=Renamed,
            type=SPAN,
            required=True,
            metavar="SPAN",
            help="How long: 12h, 7d, 2w.",
        )
        options.append(end)
    command: Callable[..., Any] = decided
    for decorate in reversed(options):
        command = decorate(command)
    return alerts.command(name=action.value, help=text)(command)


ack = _decision(TriageAction.ACK, "Acknowledge an alert: you are working on it.")
accept = _decision(TriageAction.ACCEPT, "Make the new level the baseline: the change is intended.")
mute = _decision(TriageAction.MUTE, "Send no notices about an alert for some time.")
resolve = _decision(
    TriageAction.RESOLVE, "Close an alert that is over or was wrong; the same shift does not open it again."
)
reopen = _decision(TriageAction.REOPEN, "Revoke the decision about an alert.")


def _event_line(event: Event) -> str:
    who = f" by {person(event.actor)}" if event.actor else ""
    return f"{units.moment(event.time_s)}  {one_line(event.message)}{who}"
