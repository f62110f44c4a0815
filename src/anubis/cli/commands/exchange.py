"""``anubis import``: files of other tools."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anubis.cli import errors, exit_codes, terminal
from anubis.cli.home import open_client
from anubis.cli.params import MOMENT, json_option
from anubis.cli.views import json_output, tables, units
from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.model.problem import Problem, Severity

if TYPE_CHECKING:
    from anubis.api import histories as api_histories
    from anubis.transfer import histories
else:  # the formats of other tools
    api_histories = late("anubis.api.histories")
    histories = late("anubis.transfer.histories")


#: Maximum number of problems printed, so that the summary stays visible; ``--json`` prints all.
MOST_PROBLEMS = 50


def _given_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options for fields that a file does not contain."""
    for decorate in reversed(
        (
            click.option("--time", type=MOMENT, metavar="TIME", help="Time of the measurement."),
            click.option("--commit", default="", help="Commit that was measured."),
            click.option("--commit-time", type=MOMENT, metavar="TIME", help="When that commit was made."),
            click.option(
                "--subject-version", default="", metavar="VERSION", help="Version that was measured."
            ),
            click.option("--repository", default="", metavar="URL", help="Repository of its code."),
            click.option("--machine", default="", metavar="NAME", help="Name of the machine."),
            click.option(
                "--ignore",
                multiple=True,
                metavar="PATTERN",
                help="A parameter that does not distinguish benchmarks, for example seed or 'path*'; repeatable.",
            ),
        )
    ):
        function = decorate(function)
    return function


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, metavar="[FORMAT] FILE|FOLDER|URL...")
@click.option(
    "--format", "form", metavar="NAME", help="Format of the files (default: detected from the file)."
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Read everything and print all problems; store nothing. Exits as the import would.",
)
@click.option(
    "--partial",
    is_flag=True,
    help="Despite errors, store the values that could be read and that differ from no stored value.",
)
@_given_options
@json_option
def import_(
    *,
    files: tuple[str, ...],
    form: str | None,
    dry_run: bool,
    partial: bool,
    time: float | None,
    commit: str,
    commit_time: float | None,
    subject_version: str,
    repository: str,
    machine: str,
    ignore: tuple[str, ...],
    as_json: bool,
) -> int:
    """Import measurements of another tool: asv, pytest-benchmark, hyperfine, MLflow, CSV and others.

    "anubis import mlflow http://host:5000" reads all finished runs of an MLflow tracking server. The format of a
    file is detected.

    Importing the same file again adds nothing; values of further metrics join the runs that are stored. A value that
    differs from a stored one is an error. Options apply only to fields that the file does not contain.
    """
    given = histories.ImportDefaults(
        time_s=time,
        commit=commit,
        commit_s=commit_time,
        version=subject_version,
        repository=repository,
        machine=machine,
        ignore=ignore,
    )
    if form is None and len(files) > 1 and files[0] in histories.formats() and not Path(files[0]).exists():
        form, files = files[0], files[1:]
    with open_client() as client:
        imported = client.histories.read(files, format_name=form, given=given)
        _refuse(imported, as_json=as_json, allowed=dry_run or partial)
        added = None if dry_run else client.histories.store(imported)
    if as_json:
        json_output.show(api_histories.imported_to_json(imported, added))
    else:
        _show(imported, added)
    return exit_codes.BAD_INPUT if imported.refused and not partial else exit_codes.OK


def _refuse(imported: "histories.ImportResult", *, as_json: bool, allowed: bool) -> None:
    """Print the problems of the files; raise BadInputError if they prevent the import."""
    wrong = [problem for problem in imported.problems if problem.severity is Severity.ERROR]
    refused = imported.refused and not allowed
    if not as_json:
        show_problems(imported.problems)
    if refused:
        raise BadInputError(
            f"nothing was stored: {units.counted(len(wrong), 'problem')}",
            remedy="correct the file, or store everything except these problems with --partial",
            problems=wrong if as_json else (),
        )


def show_problems(problems: tuple[Problem, ...]) -> None:
    for problem in problems[:MOST_PROBLEMS]:
        say = terminal.error if problem.severity is Severity.ERROR else terminal.warn
        say(errors.located(problem, problem.file))
        if problem.remedy:
            terminal.remedy(problem.remedy, indent="  ")
    if len(problems) > MOST_PROBLEMS:
        terminal.note(f"and {len(problems) - MOST_PROBLEMS} more: --json has them all")


def _show(imported: "histories.ImportResult", added: "histories.Added | None") -> None:
    formats = Counter(imported.formats.values())
    words = ", ".join(f"{name} ({units.counted(count, 'file')})" for name, count in formats.items())
    runs = units.counted(len(imported.history.runs), "run")
    rows = [
        ("read", words),
        ("found", f"{runs} with {units.counted(len(imported.history.points), 'value')}"),
        ("missing", units.counted(imported.missing, "value") if imported.missing else ""),
        ("stored", _stored(imported, added)),
        ("next", "anubis series analyse, which looks for changes" if added and added.values else ""),
    ]
    for line in tables.pairs(rows, width=terminal.width()):
        terminal.line(line)


def _stored(imported: "histories.ImportResult", added: "histories.Added | None") -> str:
    if added is None:
        return "nothing was stored (dry run)"
    said = [units.counted(added.runs, "new run")] if added.runs else []
    if added.joined:
        said.append(f"values added to {units.counted(added.joined, 'stored run')}")
    if imported.differing:
        said.append(f"{units.counted(imported.differing, 'value')} left out: another value is stored")
    if not added.values:
        said.insert(0, "nothing new" if imported.refused else "nothing new: every value is stored already")
    return ", ".join(said)
