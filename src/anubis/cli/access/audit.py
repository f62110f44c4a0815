"""``anubis audit``: decisions about rights."""

import click

from anubis.api.access import to_json
from anubis.cli.home import open_client
from anubis.cli.params import MOMENT, json_option
from anubis.cli.views import json_output, tables, units


@click.command()
@click.option("--actor", default="", metavar="USER", help="Only decisions about this user.")
@click.option("--refused", is_flag=True, help="Only refusals.")
@click.option("--since", type=MOMENT, default=None, metavar="TIME", help="Only from this time on.")
@click.option(
    "-n", "--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Most decisions."
)
@json_option
def audit(*, actor: str, refused: bool, since: float | None, limit: int, as_json: bool) -> None:
    """List the newest decisions of a service about rights: who, what, on what, allowed or not.

    Changes of users, projects and tokens are among them, also those by commands on the machine of the service.
    """
    with open_client() as client:
        found = client.access.decisions(actor=actor, refused=refused, since_s=since or 0.0, limit=limit)
    if as_json:
        json_output.show(list(map(to_json, found)))
        return
    titles = ("TIME", "ALLOWED", "COUNT", "USER", "TOKEN", "ADDRESS", "ACTION", "TARGET", "REASON")
    columns = [tables.Column(title=title, cut=title in {"ACTION", "TARGET", "REASON"}) for title in titles]
    rows = [
        (
            units.moment(each.last_s),
            "yes" if each.allowed else "no",
            "" if each.count == 1 else str(each.count),
            each.actor,
            each.token,
            each.address,
            each.action,
            each.target,
            each.reason,
        )
        for each in found
    ]
    tables.show(columns, rows)
