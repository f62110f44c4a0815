"""``anubis purge``."""

import click

from anubis.cli import exit_codes, terminal
from anubis.cli.home import open_client
from anubis.cli.params import REF, family_option, json_option
from anubis.cli.select import refs
from anubis.cli.views import json_output, tables, units
from anubis.contracts.runs import RunQuery
from anubis.model.errors import BadInputError
from anubis.reporting.status_words import WORDS


@click.command()
@click.argument("runs", type=REF, nargs=-1, required=True, metavar="RUN...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@click.option("--cascade", is_flag=True, help="Also the runs that these caused, for example confirming runs.")
@family_option
@json_option
def purge(*, runs: tuple[str, ...], yes: bool, cascade: bool, family: bool, as_json: bool) -> int:
    """Delete final runs and their records permanently."""
    with open_client() as client:
        ids = refs.ids_of(client, runs, families=family)
        if cascade:
            ids = refs.with_caused(client, ids)
        if not yes:
            if not terminal.can_ask():
                raise BadInputError(
                    f"{units.counted(len(ids), 'run')} would be deleted permanently: confirmation needs a terminal",
                    remedy="add --yes to confirm",
                )
            rows = client.runs.find(RunQuery(ids=tuple(ids), limit=len(ids)))
            for line in tables.pairs((row.id, f"{row.name}, {WORDS[row.status]}") for row in rows):
                terminal.line(line, err=True)
            if not click.confirm("Delete them and their records permanently?", err=True):
                return exit_codes.CANCELLED
        purged = client.runs.purge(ids)
    if as_json:
        json_output.show({"purged": purged})
    else:
        terminal.line("\n".join(purged))
    return exit_codes.OK
