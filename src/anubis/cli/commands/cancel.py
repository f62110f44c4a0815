"""``anubis cancel``."""

from typing import TYPE_CHECKING

import click

from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.params import REF, family_option, json_option
from anubis.cli.select import refs
from anubis.cli.views import json_output
from anubis.contracts.runs import RunQuery
from anubis.model.errors import BadInputError
from anubis.model.status import Status

if TYPE_CHECKING:
    from anubis.client import Client

UNFINISHED = tuple(status for status in Status if not status.final)


@click.command()
@click.argument("runs", type=REF, nargs=-1, metavar="[RUN]...")
@click.option("--all", "everything", is_flag=True, help="Every run that is not final.")
@click.option("--why", default="", help="Reason, stored in the timeline of each run.")
@click.option("--cascade", is_flag=True, help="Also the runs that these caused, for example confirming runs.")
@family_option
@json_option
def cancel(
    *, runs: tuple[str, ...], everything: bool, why: str, cascade: bool, family: bool, as_json: bool
) -> None:
    """Cancel runs that are not final."""
    if bool(runs) == everything:
        raise BadInputError("name the runs to cancel, or use --all", remedy="see anubis history")
    with open_client() as client:
        ids = _unfinished(client) if everything else refs.ids_of(client, runs, families=family)
        asked = [run.id for run in client.runs.cancel(ids, why=why, cascade=cascade)]
        ids = list(dict.fromkeys([*ids, *asked]))
        client.workers.start()
    if as_json:
        json_output.show(
            {"cancelling": asked, "final_already": [run_id for run_id in ids if run_id not in asked]}
        )
        return
    for run_id in ids:
        terminal.line(f"{run_id}  {'cancelling' if run_id in asked else 'already final'}")
    if not ids:
        terminal.line("all runs are final")


def _unfinished(client: "Client") -> list[str]:
    return [
        row.id for row in client.runs.find(RunQuery(statuses=UNFINISHED, limit=refs.MOST, newest_first=False))
    ]
