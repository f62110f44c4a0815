"""``anubis run``: measures in the foreground and shows the values."""

import click

from anubis.cli import submissions
from anubis.cli.home import open_client
from anubis.cli.params import json_option
from anubis.cli.views import status_text
from anubis.cli.views.follow import follow
from anubis.cli.views.outcome import show_outcome


@click.command(cls=submissions.CommandAfterDashes)
@submissions.options
@json_option
def run(*, asked: submissions.Asked, as_json: bool) -> int:
    """Measure descriptors, or a command, in the foreground.

    Two files are compared: the first is the baseline, and verdicts follow the values. A command after -- is measured
    without a descriptor file: wall time, processor time and peak memory; "anubis descriptor" prints its descriptor.

    Ctrl-C cancels the runs and waits until they have ended; a second Ctrl-C exits at once.

    Crossed thresholds of the descriptor are shown, but do not change the exit status; anubis check is the gate.

    Exits 1 if a run failed, 5 if one was cancelled, else 0, whatever the values and verdicts are.
    """
    with open_client() as client:
        ended = follow(client, submissions.submit(client, asked), cancels=True)
        show_outcome(client, ended, as_json=as_json)
    return status_text.exit_code([ended_run.status for ended_run in ended])
