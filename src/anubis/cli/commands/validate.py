"""``anubis validate`` and ``anubis schema``: descriptors before anything runs."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anubis.cli import errors, exit_codes, terminal
from anubis.cli.params import PAIR, json_option, mapping
from anubis.cli.views import json_output, tables, units
from anubis.model.errors import BadInputError
from anubis.model.plain import to_plain
from anubis.model.problem import Problem, Severity

if TYPE_CHECKING:
    from anubis.describe import Cell


@click.command()
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--set", "overrides", type=PAIR, multiple=True, metavar="PATH=VALUE", help="Override a field; repeatable."
)
@click.option("--upgrade", is_flag=True, help="Print the file in the spelling of version 1.0, comments kept.")
@click.option("--plan", is_flag=True, help="Show every run the file stands for.")
@json_option
def validate(
    *,
    files: tuple[Path, ...],
    overrides: tuple[tuple[str, str], ...],
    upgrade: bool,
    plan: bool,
    as_json: bool,
) -> int:
    """Check descriptor files and show every problem at once.

    What depends on an engine is checked if that engine is installed here. Exits 2 when any file has an error; warnings name old spellings that still work.
    """
    if upgrade and (len(files) > 1 or as_json or plan):
        raise BadInputError(
            "--upgrade prints one file and nothing else", remedy="give one FILE and no --json or --plan"
        )
    if upgrade:
        click.echo(_upgraded(files[0]), nl=False)
        return exit_codes.OK
    reports = [_report(file, mapping(overrides)) for file in files]
    if as_json:
        json_output.show([_report_json(report, plan=plan) for report in reports])
    else:
        for report in reports:
            _show(report, plan=plan)
    return exit_codes.OK if all(report.valid for report in reports) else exit_codes.BAD_INPUT


@click.command()
def schema() -> None:
    """Print the JSON Schema of descriptors.

    Editors complete and check TOML with it: Even Better TOML, Taplo.
    """
    from anubis import describe  # noqa: PLC0415  pydantic stands behind it

    json_output.show(describe.json_schema())


@dataclass(frozen=True, slots=True)
class _Report:
    file: Path
    problems: tuple[Problem, ...]
    cells: "tuple[Cell, ...]"
    #: Found with the engines and notifiers of this installation.
    here: tuple[Problem, ...] = ()

    @property
    def valid(self) -> bool:
        return not any(problem.severity is Severity.ERROR for problem in (*self.problems, *self.here))

    @property
    def next_due_s(self) -> float | None:
        """When the benchmark is next due, UTC seconds; None without a schedule."""
        from anubis import describe  # noqa: PLC0415  see _report

        info = self.cells[0].descriptor.info
        return describe.due_after(info.scheduling, info.timezone, time.time())


def _report(file: Path, overrides: dict[str, str]) -> _Report:
    from anubis import describe  # noqa: PLC0415  pydantic stands behind it

    reading = describe.read(read_file(file), filename=str(file), overrides=overrides)
    if reading.descriptor is None:
        return _Report(file, reading.problems, ())
    try:
        cells = describe.cells(reading.descriptor)
    except BadInputError as error:
        return _Report(file, (*reading.problems, *error.problems), ())
    return _Report(file, reading.problems, cells, tuple(dict.fromkeys(_here(cells))))


def _here(cells: "Sequence[Cell]") -> Iterator[Problem]:
    """What the engines and notifiers of this installation say about the runs."""
    from anubis import wiring  # noqa: PLC0415  the store stands behind it
    from anubis.settings import Settings  # noqa: PLC0415
    from anubis.submission.refusals import checked_here  # noqa: PLC0415

    settings = Settings.from_env(os.environ)
    surroundings = wiring.surroundings_of(settings)
    engines, notifiers = wiring.engines(surroundings), wiring.notifiers(surroundings)
    for cell in cells:
        yield from checked_here(cell.descriptor, engines, notifiers, settings.engine)


def _upgraded(file: Path) -> str:
    from anubis import describe  # noqa: PLC0415  pydantic stands behind it

    try:
        return describe.upgrade(read_file(file))
    except BadInputError as error:
        raise BadInputError(
            f"{file}: {error.message}",
            remedy=error.remedy,
            problems=error.problems,
            file=error.file or str(file),
        ) from error


def read_file(file: Path) -> bytes:
    """The bytes of a descriptor file; ``-`` is standard input. Raises BadInputError."""
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise BadInputError(
            f"{file}: {error.strerror}", remedy="give the path of a descriptor file"
        ) from error


def _show(report: _Report, *, plan: bool) -> None:
    """Findings go where errors go; what is fine goes to standard output."""
    file = str(report.file)
    found = [problem for problem in (*report.problems, *report.here) if problem.severity is Severity.ERROR]
    warnings = [problem for problem in report.problems if problem.severity is Severity.WARNING]
    if warnings:
        terminal.warn(
            f"{file}: {units.counted(len(warnings), 'old spelling')} (anubis validate --upgrade {file})"
        )
        errors.show_problems(warnings, file=file)
    if here := [problem for problem in report.here if problem.severity is Severity.WARNING]:
        terminal.warn(f"{file}: {units.counted(len(here), 'problem')} on this installation")
        errors.show_problems(here, file=file)
    if found:
        terminal.error(f"{file}: {units.counted(len(found), 'problem')}")
        errors.show_problems(found, file=file)
        return
    first = report.cells[0].descriptor
    runs = units.counted(len(report.cells), "run")
    metrics = units.counted(len(first.output.metrics), "metric")
    click.echo(f"{file}: fine: {first.info.name}, {runs}, {metrics}{_due(report)}")
    if plan:
        _show_plan(report.cells)


def _due(report: _Report) -> str:
    """The end of the line about a scheduled benchmark."""
    if report.next_due_s is None:
        return ""
    from anubis.describe.check.schedules import zone  # noqa: PLC0415  see _report

    timezone = report.cells[0].descriptor.info.timezone
    due = datetime.fromtimestamp(report.next_due_s, zone(timezone))
    return f", next due {due:%Y-%m-%d %H:%M} {timezone}"


def _show_plan(cells: "Sequence[Cell]") -> None:
    axes = list(cells[0].values)
    columns = [
        *(tables.Column(title=axis.rpartition(".")[2] if len(axes) > 1 else axis) for axis in axes),
        tables.Column(title="ENGINE"),
        tables.Column(title="EXECUTIONS", right=True),
        tables.Column(title="AT MOST", right=True),
        tables.Column(title="COMMAND", cut=True),
    ]
    tables.show(columns, [_plan_row(cell) for cell in cells])


def _plan_row(cell: "Cell") -> list[tables.Cell]:
    descriptor = cell.descriptor
    measure, ml = descriptor.measure, descriptor.ml
    executions = measure.repeats + measure.warmups
    return [
        *(str(value) for value in cell.values.values()),
        descriptor.info.execution_engine,
        str(executions),
        units.duration(executions * measure.timeout_s),
        f"{ml.benchmark_code or '(entry point of the image)'} {ml.args}".rstrip(),
    ]


def _report_json(report: _Report, *, plan: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "file": str(report.file),
        "valid": report.valid,
        "problems": [errors.problem_json(problem) for problem in (*report.problems, *report.here)],
    }
    if report.cells and report.next_due_s is not None:
        shown["next_due_s"] = report.next_due_s
    if plan:
        shown["runs"] = [
            {"cell": cell.values, "descriptor": to_plain(cell.descriptor)} for cell in report.cells
        ]
    return shown
