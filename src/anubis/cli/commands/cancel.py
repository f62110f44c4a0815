"""``anubis cancel`` and ``anubis purge``: the end of runs, and of what is known about them."""

from typing import TYPE_CHECKING

import click

from anubis.cli import exit_codes, terminal
from anubis.cli.home import open_client
from anubis.cli.params import REF, family_option, json_option
from anubis.cli.select import refs
from anubis.cli.views import json_output, tables, units
from anubis.contracts.runs import RunQuery
from anubis.model.errors import BadInputError
from anubis.model.status import Status

if TYPE_CHECKING:
    from anubis.client import Client

UNFINISHED = tuple(status for status in Status if not status.final)


@click.command()
@click.argument("runs", type=REF, nargs=-1, metavar="[RUN]...")
@click.option("--all", "everything", is_flag=True, help="Every run that is not final.")
@click.option("--why", default="", help="Kept in the timeline of each run.")
@family_option
@json_option
def cancel(*, runs: tuple[str, ...], everything: bool, why: str, family: bool, as_json: bool) -> None:
    """End runs before they end by themselves."""
    if bool(runs) == everything:
        raise BadInputError("nothing says which runs to cancel", remedy="name runs, or give --all")
    with open_client() as client:
        ids = _unfinished(client) if everything else refs.ids_of(client, runs, families=family)
        asked = [run.id for run in client.runs.cancel(ids, why=why)]
        client.workers.start()
    if as_json:
        json_output.show(
            {"cancelling": asked, "final_already": [run_id for run_id in ids if run_id not in asked]}
        )
        return
    for run_id in ids:
        click.echo(f"{run_id}  {'cancelling' if run_id in asked else 'final already'}")
    if not ids:
        click.echo("no run is unfinished")


@click.command()
@click.argument("runs", type=REF, nargs=-1, required=True, metavar="RUN...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@family_option
@json_option
def purge(*, runs: tuple[str, ...], yes: bool, family: bool, as_json: bool) -> int:
    """Forget final runs and delete their records for ever."""
    with open_client() as client:
        ids = refs.ids_of(client, runs, families=family)
        if not yes:
            if not terminal.can_ask():
                raise BadInputError(
                    f"{units.counted(len(ids), 'run')} would be deleted for ever, and there is nobody to ask",
                    remedy="give --yes if that is meant",
                )
            rows = client.runs.find(RunQuery(ids=tuple(ids), limit=len(ids)))
            for line in tables.pairs((row.id, f"{row.name}, {row.status}") for row in rows):
                click.echo(line, err=True)
            if not click.confirm("Delete them and their records for ever?", err=True):
                return exit_codes.CANCELLED
        purged = client.runs.purge(ids)
    if as_json:
        json_output.show({"purged": purged})
    else:
        click.echo("\n".join(purged))
    return exit_codes.OK


def _unfinished(client: "Client") -> list[str]:
    return [
        row.id for row in client.runs.find(RunQuery(statuses=UNFINISHED, limit=refs.MOST, newest_first=False))
    ]
