"""``anubis status`` and ``anubis watch``."""

import time

import click

from anubis.api.runs import run_to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.params import family_option, json_option, ref_argument
from anubis.cli.select import refs
from anubis.cli.views import json_output, status_text, tables, units
from anubis.cli.views.follow import follow
from anubis.cli.views.outcome import show_outcome
from anubis.cli.views.overrides_view import overrides_text
from anubis.model.run import Run
from anubis.reporting.markup import person
from anubis.reporting.status_words import word_of


@click.command()
@ref_argument
@json_option
def status(*, ref: str, as_json: bool) -> None:
    """Show the status of a run."""
    with open_client() as client:
        run = client.runs.get(ref)
        points = client.results.points([run.id])
    if as_json:
        json_output.show(run_to_json(run, points))
        return
    for line in tables.pairs(about(run), width=terminal.width()):
        terminal.line(line)


def about(run: Run) -> list[tuple[str, str]]:
    """Names and values that describe a run."""
    state = terminal.style(word_of(run), fg=status_text.status_cell(run.status).colour)
    meaning = status_text.MEANINGS.get(run.status)
    remedy = f"{run.cause.value}: {run.cause.remedy}" if run.cause else ""
    return [
        ("run", run.id),
        ("name", run.descriptor.info.name),
        ("status", f"{state} ({meaning})" if meaning else state),
        ("reason", run.reason),
        ("cause", remedy),
        ("engine", run.engine),
        (
            "submitted",
            f"{units.moment(run.created_s)}{f' by {person(run.owner)}' if run.owner else ''}",
        ),
        ("took", status_text.took(run.placed_s, run.ended_s, now_s=time.time())),
        ("cost", status_text.cost_text(run.cost)),
        ("attempt", str(run.attempt) if run.attempt > 1 else ""),
        ("needs", ", ".join(run.needs)),
        ("family", run.family_id or ""),
        ("overrides", overrides_text(run.overrides)),
    ]


@click.command()
@ref_argument
@family_option
@json_option
def watch(*, ref: str, family: bool, as_json: bool) -> int:
    """Wait until a run is final, then show its values.

    The exit status is that of "anubis run". After Ctrl-C the run continues.
    """
    with open_client() as client:
        runs = [client.runs.get(run_id) for run_id in refs.ids_of(client, [ref], families=family)]
        if any(not run.status.final for run in runs):
            runs = follow(client, runs, cancels=False)
        show_outcome(client, runs, as_json=as_json)
    return status_text.exit_code([run.status for run in runs])
