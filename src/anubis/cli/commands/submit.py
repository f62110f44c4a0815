"""``anubis submit`` and ``anubis worker``: runs in the background."""

import click

from anubis.api.runs import run_to_json
from anubis.cli import submissions, terminal
from anubis.cli.home import open_client
from anubis.cli.params import json_option
from anubis.cli.views import json_output, units


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


@click.command()
@click.option(
    "--schedules",
    "keeps_schedules",
    is_flag=True,
    help="Also submit the runs of schedules at their due times, and work until SIGTERM or Ctrl-C.",
)
@json_option
def worker(*, keeps_schedules: bool, as_json: bool) -> None:
    """Drive all unfinished runs, then exit; exit at once if another worker does. Started automatically when there are unfinished runs."""
    with open_client(embedded=True) as client:
        if keeps_schedules:
            active = [each for each in client.schedules.find() if each.paused_s is None]
            terminal.note(f"keeping {units.counted(len(active), 'active schedule')} until SIGTERM or Ctrl-C")
            client.workers.keep_schedules()
            if as_json:
                json_output.show({"drove": True})
            return
        drove = client.workers.run()
    if as_json:
        json_output.show({"drove": drove})
    elif not drove:
        terminal.note("another worker is active")
