"""``anubis replay``: measures a stored run again."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from anubis.api.problems import problem_to_json
from anubis.api.runs import run_to_json
from anubis.cli import errors, exit_codes, terminal
from anubis.cli.home import open_client
from anubis.cli.params import json_option, mapping, overrides_option, ref_argument
from anubis.cli.views import json_output, status_text
from anubis.cli.views.follow import follow
from anubis.cli.views.outcome import show_outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anubis.client import Client
    from anubis.client.protocol.runs import Replayed
    from anubis.model.problem import Problem


@click.command()
@ref_argument
@overrides_option("Override a field in addition to the overrides of the run")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Working folder of the benchmark (default: that of the run).",
)
@click.option("--detach", is_flag=True, help="Return at once; a background worker drives the run.")
@json_option
def replay(
    *, ref: str, overrides: tuple[tuple[str, str], ...], folder: Path | None, detach: bool, as_json: bool
) -> int:
    """Measure a stored run again: its descriptor with its overrides, and its script archive.

    Prints what differs now: the machine, Python, the environment; and at the end, what was measured: the data and the
    image. Refuses to measure other code under the commit of the run.

    Exits like "anubis run".
    """
    with open_client() as client:
        replayed = client.runs.replay(ref, overrides=mapping(overrides), folder=folder)
        if not as_json:
            terminal.note(f"replay of {replayed.replay_of.id}")
            _show_differences(replayed.differences)
        if detach:
            client.workers.start()
            if as_json:
                json_output.show(_as_json(client, replayed))
            else:
                terminal.line(replayed.run.id)
            return exit_codes.OK
        ended = follow(client, [replayed.run], cancels=True)
        after = client.runs.compared(replayed)
        if as_json:
            json_output.show(_as_json(client, after))
        else:
            _show_differences(after.differences[len(replayed.differences) :])
            show_outcome(client, ended, as_json=False)
    return status_text.exit_code([run.status for run in ended])


def _show_differences(differences: "Sequence[Problem]") -> None:
    for problem in differences:
        terminal.warn(errors.located(problem, ""))
        if problem.remedy:
            terminal.remedy(problem.remedy, indent="  ")


def _as_json(client: "Client", replayed: "Replayed") -> dict[str, object]:
    """The run as it is now, and what it does not have in common with the run that it repeats."""
    run = client.runs.get(replayed.run.id)
    return {
        "replay_of": replayed.replay_of.id,
        "same_descriptor": run.digest == replayed.replay_of.digest,
        "differences": [problem_to_json(problem) for problem in replayed.differences],
        "run": run_to_json(run, client.results.points([run.id])),
    }
