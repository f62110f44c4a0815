"""``anubis import`` and ``anubis export``: files of other tools."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from anubis.cli import errors, exit_codes, terminal
from anubis.cli.home import open_client
from anubis.cli.params import MOMENT, json_option, mapping, run_filters
from anubis.cli.select import refs
from anubis.cli.select.unknown_names import unknown_name
from anubis.cli.views import json_output, tables, units
from anubis.contracts.runs import RunQuery
from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.model.problem import Problem, Severity
from anubis.model.status import Status

if TYPE_CHECKING:
    from anubis.api import histories as api_histories
    from anubis.transfer import histories
else:  # the formats of other tools
    api_histories = late("anubis.api.histories")
    histories = late("anubis.transfer.histories")


#: Maximum number of problems printed, so that the summary stays visible; ``--json`` prints all.
MOST_PROBLEMS = 50
#: Runs of an export: all of them.
EVERYTHING = 1_000_000_000


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
        _show_problems(imported.problems)
    if refused:
        raise BadInputError(
            f"nothing was stored: {units.counted(len(wrong), 'problem')}",
            remedy="correct the file, or store everything except these problems with --partial",
            problems=wrong if as_json else (),
        )


def _show_problems(problems: tuple[Problem, ...]) -> None:
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


@click.command()
@click.option(
    "--format", "form", default="csv", show_default=True, help="csv, jsonl, parquet, bmf, openmetrics."
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Default: standard output."
)
@run_filters
@click.option("--metric", help="Only values of this metric.")
@json_option
def export(
    *,
    form: str,
    output: Path | None,
    name: str | None,
    commit: str | None,
    labels: tuple[tuple[str, str], ...],
    metric: str | None,
    statuses: tuple[Status, ...],
    since: float | None,
    until: float | None,
    family: str | None,
    as_json: bool,
) -> None:
    """Write the values of stored runs for other tools. The filters are those of anubis history.

    A CSV export contains everything that anubis import needs. --json describes the written file: path, format and
    problems.
    """
    if output is None and as_json:
        raise BadInputError("--json needs a file for the values", remedy="name it with --output")
    if output is None and form == "parquet" and terminal.interactive():
        raise BadInputError("parquet cannot be shown on a terminal", remedy="name a file with --output")
    conditions = RunQuery(
        name=name,
        subject=commit,
        labels=mapping(labels),
        metric=metric,
        statuses=statuses,
        since_s=since,
        until_s=until,
        limit=EVERYTHING,
        newest_first=False,
    )
    with open_client() as client, _stream(output) as stream:
        query = replace(conditions, family_id=refs.family_id(client, family)) if family else conditions
        problems = client.histories.export(query, stream, format_name=form)
        empty = not client.runs.find(replace(query, limit=1))
        unknown = (
            unknown_name(client, benchmark=name, metric=metric, labels=mapping(labels)) if empty else None
        )
    if as_json:
        json_output.show(api_histories.exported_to_json(str(output), form, problems))
    else:
        _show_problems(tuple(problems))
        terminal.no_match(unknown)


@contextlib.contextmanager
def _stream(output: Path | None) -> Iterator[BinaryIO]:
    """Standard output, or a file that appears only when it is complete."""
    if output is None:
        yield terminal.raw()
        return
    unfinished = output.with_name(f".{output.name}.unfinished")
    try:
        with unfinished.open("wb") as stream:
            yield stream
        unfinished.replace(output)
    except OSError as error:
        raise BadInputError(f"{output}: {error.strerror}", remedy="give a writable file") from error
    finally:
        unfinished.unlink(missing_ok=True)
