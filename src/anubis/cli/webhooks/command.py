"""``anubis webhook``: receivers of events."""

from pathlib import Path
from typing import IO

import click

from anubis.api.operations import sink_to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import json_option
from anubis.cli.views import json_output, tables, units
from anubis.contracts.events import Sink, SinkState
from anubis.model.errors import BadInputError
from anubis.model.ids import short_id

_REF = click.argument("ref", metavar="WEBHOOK")
_COLUMNS = (
    tables.Column(title="WEBHOOK"),
    tables.Column(title="ADDRESS", cut=True),
    tables.Column(title="STATE"),
    tables.Column(title="BEHIND", right=True),
    tables.Column(title="KINDS", cut=True),
)


@click.group(cls=ListGroup)
def webhook() -> None:
    """Send events of runs to other programs, as signed HTTP requests.

    WEBHOOK is an id or a unique prefix. Without a command: list the webhooks. Deliveries need a process that drives
    runs, for example anubis serve.
    """


@webhook.command()
@click.argument("url", metavar="URL")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="Deliver only events of this kind, for example final; repeatable.  [default: all]",
)
@click.option(
    "--secret-file",
    type=click.File(),
    required=True,
    metavar="FILE",
    help="File with the keys of the signature, text of at least 24 bytes each; - is standard input.",
)
@click.option("--past", is_flag=True, help="Deliver also the events that are stored already.")
@json_option
def add(*, url: str, kinds: tuple[str, ...], secret_file: IO[str], past: bool, as_json: bool) -> None:
    """Post the events of all runs to URL from now on. Prints the id of the webhook."""
    try:
        secret = secret_file.read()
    except (OSError, UnicodeDecodeError) as error:
        name = Path(secret_file.name).name
        raise BadInputError(f"{name} cannot be read as text", remedy="name a readable file") from error
    with open_client() as client:
        added = client.webhooks.add(url, " ".join(secret.split()), kinds=kinds, past=past)
    _show_changed(added, added.id, as_json=as_json)


@webhook.command(name="list")
@json_option
def listed(*, as_json: bool) -> None:
    """List the webhooks. BEHIND is the number of events that are stored after the position of a webhook."""
    with open_client() as client:
        found = client.webhooks.find()
    if as_json:
        json_output.show_list(map(sink_to_json, found))
        return
    if not found:
        terminal.line("no webhooks")
        return
    ids = [sink.id for sink in found]
    rows = [
        (
            short_id(sink.id, [other for other in ids if other != sink.id]),
            sink.address,
            _state(sink),
            str(sink.behind),
            ", ".join(sink.kinds) or "all",
        )
        for sink in found
    ]
    tables.show(_COLUMNS, rows)


@webhook.command()
@_REF
@json_option
def show(*, ref: str, as_json: bool) -> None:
    """Show a webhook, its position and its last failure."""
    with open_client() as client:
        sink = client.webhooks.get(ref)
    if as_json:
        json_output.show(sink_to_json(sink))
        return
    last = "never" if sink.delivered_s is None else units.exact_moment(sink.delivered_s)
    rows = [
        ("webhook", sink.id),
        ("address", sink.address),
        ("kinds", ", ".join(sink.kinds) or "all"),
        ("added", units.exact_moment(sink.created_s)),
        ("state", _state(sink)),
        ("delivered", f"{units.counted(sink.delivered, 'event')}, last {last}"),
        ("behind", units.counted(sink.behind, "event")),
        ("error", sink.error),
        ("next", "anubis webhook resume continues it" if sink.state is SinkState.OFF else ""),
    ]
    for line in tables.pairs(rows, width=terminal.width()):
        terminal.line(line)


@webhook.command()
@_REF
@json_option
def remove(*, ref: str, as_json: bool) -> None:
    """Delete a webhook. Events that it has not received are not delivered."""
    with open_client() as client:
        removed = client.webhooks.remove(ref)
    _show_changed(removed, f"deleted webhook {removed.id}", as_json=as_json)


@webhook.command()
@_REF
@json_option
def resume(*, ref: str, as_json: bool) -> None:
    """Deliver to a webhook that is off, or that waits after a failure, from its position on."""
    with open_client() as client:
        resumed = client.webhooks.resume(ref)
    _show_changed(resumed, f"webhook {resumed.id} is active", as_json=as_json)


@webhook.command()
@_REF
@json_option
def test(*, ref: str, as_json: bool) -> None:
    """Send a message of type webhook.test now, and wait for the answer."""
    with open_client() as client:
        client.webhooks.test(ref)
    if as_json:
        json_output.show({"accepted": True})
    else:
        terminal.line("accepted")


def _state(sink: Sink) -> str:
    if sink.state is SinkState.ACTIVE and sink.attempts:
        return f"failing ({units.counted(sink.attempts, 'attempt')})"
    return sink.state.value


def _show_changed(sink: Sink, text: str, *, as_json: bool) -> None:
    if as_json:
        json_output.show(sink_to_json(sink))
    else:
        terminal.line(text)
