"""``anubis submit``: runs in the background."""

import click

from anubis.api.runs import run_to_json
from anubis.cli import submissions, terminal
from anubis.cli.home import open_client
from anubis.cli.params import json_option
from anubis.cli.views import json_output


@click.command(cls=submissions.CommandAfterDashes)
@submissions.options
@json_option
def submit(*, asked: submissions.Asked, as_json: bool) -> None:
    """Store runs of descriptors, or of a command, and return; a background worker drives them.

    Prints the id of every run, one per line.
    """
    with open_client() as client:
        runs = submissions.submit(client, asked)
        client.workers.start()
    if as_json:
        json_output.show_list(run_to_json(run) for run in runs)
        return
    for run in runs:
        terminal.line(run.id)
