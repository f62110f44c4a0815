"""``anubis run``: measures in the foreground and shows the values."""

from pathlib import Path

import click

from anubis.cli.errors import warned
from anubis.cli.home import open_client
from anubis.cli.params import json_option, submission_options
from anubis.cli.views import status_text
from anubis.cli.views.follow import follow
from anubis.cli.views.outcome import show_outcome


@click.command()
@submission_options
@json_option
def run(
    *,
    files: tuple[Path, ...],
    rounds: int,
    overrides: tuple[tuple[str, str], ...],
    script: Path | None,
    as_json: bool,
) -> int:
    """Measure descriptors in the foreground.

    Two files are compared: the first is the baseline, and verdicts follow the values. Ctrl-C cancels the runs and
    waits until they have ended; a second Ctrl-C exits at once.

    Crossed thresholds of the descriptor are shown, but do not change the exit status; anubis check is the gate.

    Exits 1 if a run failed, 5 if one was cancelled, else 0, whatever the values and verdicts are.
    """
    with open_client() as client:
        runs = client.runs.submit(
            files, overrides=dict(overrides), script=script, rounds=rounds, warned=warned
        )
        ended = follow(client, runs, cancels=True)
        show_outcome(client, ended, as_json=as_json)
    return status_text.exit_code([ended_run.status for ended_run in ended])
