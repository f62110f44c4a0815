"""``anubis sign-in``: browsers in which people have signed in to a service."""

import time

import click

from anubis.api.access import to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import json_option
from anubis.cli.views import json_output, tables, units


@click.group("sign-in", cls=ListGroup)
def sign_in() -> None:
    """Browsers in which people have signed in to a service. Without a command: list them."""


@sign_in.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List the sign-ins, also those that ended in the last 30 days."""
    with open_client() as client:
        found = client.access.sign_ins()
    if as_json:
        json_output.show(list(map(to_json, found)))
        return
    titles = ("SIGN-IN", "USER", "STATE", "SINCE", "LAST USED", "EXPIRES", "WITH", "BROWSER")
    columns = [tables.Column(title=title, cut=title in {"WITH", "BROWSER"}) for title in titles]
    rows = [
        (
            each.id,
            each.user,
            each.refusal(time.time()) or "valid",
            units.moment(each.created_s),
            "" if each.used_s is None else units.moment(each.used_s),
            units.moment(each.expires_s),
            each.issuer or f"token {each.token}",
            each.about,
        )
        for each in found
    ]
    tables.show(columns, rows)


@sign_in.command()
@click.argument("sign_in")
@json_option
def revoke(*, sign_in: str, as_json: bool) -> None:
    """End a sign-in, named by its id: the browser must sign in again."""
    with open_client() as client:
        found = client.access.revoke_sign_in(sign_in)
    if as_json:
        json_output.show(to_json(found))
    else:
        terminal.line(f"ended the sign-in {found.id} of {found.user}")
