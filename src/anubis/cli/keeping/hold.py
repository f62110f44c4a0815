"""``anubis hold``: runs that nothing deletes."""

import click

from anubis.api.operations import hold_to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import REF, family_option, json_option
from anubis.cli.select import refs
from anubis.cli.views import json_output, tables, units

_RUNS = click.argument("runs", type=REF, nargs=-1, required=True, metavar="RUN...")
_COLUMNS = (
    tables.Column(title="RUN"),
    tables.Column(title="SINCE"),
    tables.Column(title="BY", cut=True),
    tables.Column(title="WHY", cut=True),
)


@click.group(cls=ListGroup)
def hold() -> None:
    """Hold runs: no command and no retention rule deletes them. Without a command: list the held runs."""


@hold.command()
@_RUNS
@click.option("--why", required=True, metavar="TEXT", help="The reason; it is stored with the hold.")
@family_option
@json_option
def add(*, runs: tuple[str, ...], why: str, family: bool, as_json: bool) -> None:
    """Hold runs until the hold is removed. Prints their ids."""
    with open_client() as client:
        held = client.storage.hold(refs.ids_of(client, runs, families=family), why=why)
    if as_json:
        json_output.show_list(map(hold_to_json, held))
    else:
        terminal.line("\n".join(each.run_id for each in held))


@hold.command(name="list")
@json_option
def listed(*, as_json: bool) -> None:
    """List the held runs, the oldest hold first."""
    with open_client() as client:
        held = client.storage.holds()
        short = client.runs.short_ids([each.run_id for each in held])
    if as_json:
        json_output.show_list(map(hold_to_json, held))
    elif held:
        tables.show(
            _COLUMNS,
            [(short[each.run_id], units.exact_moment(each.created_s), each.actor, each.why) for each in held],
        )
    else:
        terminal.line("no runs are held")


@hold.command()
@_RUNS
@family_option
@json_option
def remove(*, runs: tuple[str, ...], family: bool, as_json: bool) -> None:
    """End holds. Prints the ids of the runs that were held."""
    with open_client() as client:
        released = client.storage.release(refs.ids_of(client, runs, families=family))
    if as_json:
        json_output.show({"released": list(released)})
    else:
        terminal.line("\n".join(released) or "none of these runs was held")
