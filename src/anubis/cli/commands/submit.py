"""``anubis submit`` and ``anubis worker``: runs in the background."""

from pathlib import Path

import click

from anubis.api.runs import run_to_json
from anubis.cli import terminal
from anubis.cli.errors import warned
from anubis.cli.home import open_client
from anubis.cli.params import json_option, submission_options
from anubis.cli.views import json_output


@click.command()
@submission_options
@json_option
def submit(
    *,
    files: tuple[Path, ...],
    rounds: int,
    overrides: tuple[tuple[str, str], ...],
    script: Path | None,
    as_json: bool,
) -> None:
    """Store runs and return; a background worker drives them.

    Prints the id of every run, one per line.
    """
    with open_client() as client:
        runs = client.runs.submit(
            files, overrides=dict(overrides), script=script, rounds=rounds, warned=warned
        )
        client.workers.start()
    if as_json:
        json_output.show_list(run_to_json(run) for run in runs)
        return
    for run in runs:
        click.echo(run.id)


@click.command()
@json_option
def worker(*, as_json: bool) -> None:
    """Drive all unfinished runs, then exit. Started automatically when there are unfinished runs."""
    with open_client() as client:
        drove = client.workers.run()
    if as_json:
        json_output.show({"drove": drove})
    elif not drove:
        terminal.note("another worker is active")
