"""``anubis submit`` and ``anubis worker``: runs that go on without their terminal."""

from pathlib import Path

import click

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
    """Store runs and return; a background worker carries them on.

    Prints the id of every run, one a line.
    """
    with open_client() as client:
        runs = client.runs.submit(
            files, overrides=dict(overrides), script=script, rounds=rounds, warned=warned
        )
        client.workers.start()
    if as_json:
        json_output.show_list(json_output.run_json(run) for run in runs)
        return
    for run in runs:
        click.echo(run.id)


@click.command()
def worker() -> None:
    """Carry on all unfinished runs, then end. Started by itself when there is something to do."""
    with open_client() as client:
        if not client.workers.run():
            click.echo("another worker is at work", err=True)
