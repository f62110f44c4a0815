"""``anubis validate`` and ``anubis schema``."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anubis.cli import errors, exit_codes, terminal
from anubis.cli.params import json_option, mapping, overlay_option, overrides_option
from anubis.cli.views import datasets_view, json_output, tables, units
from anubis.contracts.datasets import DataPlan
from anubis.late import late
from anubis.model.errors import BadInputError, PlugInError
from anubis.model.problem import Problem, Severity
from anubis.settings import Settings

if TYPE_CHECKING:
    from anubis import describe, wiring
    from anubis.api import descriptors as api_descriptors
    from anubis.describe.check import schedules
    from anubis.pipeline import run_data
    from anubis.submission import descriptor_files, price_table, refusals
else:  # pydantic, the store
    api_descriptors = late("anubis.api.descriptors")
    describe = late("anubis.describe")
    descriptor_files = late("anubis.submission.descriptor_files")
    run_data = late("anubis.pipeline.run_data")
    price_table = late("anubis.submission.price_table")
    refusals = late("anubis.submission.refusals")
    schedules = late("anubis.describe.check.schedules")
    wiring = late("anubis.wiring")


@click.command()
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE...")
@overrides_option("Override a field")
@overlay_option
@click.option(
    "--upgrade", is_flag=True, help="Print the file in the spelling of version 1.0; comments are kept."
)
@click.option("--plan", is_flag=True, help="Show every run that the file describes, and the data to fetch.")
@click.option(
    "--resolved", is_flag=True, help="Print every value with its origin: the file, --set, or a default."
)
@json_option
def validate(
    *,
    files: tuple[Path, ...],
    overrides: tuple[tuple[str, str], ...],
    overlays: tuple[Path, ...],
    upgrade: bool,
    plan: bool,
    resolved: bool,
    as_json: bool,
) -> int:
    """Check descriptor files and print all problems.

    Properties that depend on an engine are checked if that engine is installed. Exits 2 if any file has an error;
    warnings name old spellings that are still accepted.
    """
    if upgrade and (len(files) > 1 or as_json or plan or resolved):
        raise BadInputError(
            "--upgrade prints only one file", remedy="name one FILE, without --json, --plan and --resolved"
        )
    if resolved and (len(files) > 1 or plan):
        raise BadInputError("--resolved prints only one file", remedy="name one FILE, without --plan")
    if resolved:
        show_resolved(files[0], mapping(overrides), overlays, as_json=as_json)
        return exit_codes.OK
    if upgrade:
        terminal.line(_upgraded(files[0]), nl=False)
        return exit_codes.OK
    reports = [_report(file, mapping(overrides), overlays, plan=plan) for file in files]
    default_engine = Settings.from_env(os.environ).engine
    if as_json:
        json_output.show(
            [
                api_descriptors.validation_to_json(
                    str(report.file),
                    (*report.problems, *report.here),
                    _runs(report.cells, default_engine) if plan else None,
                    next_due_s=report.next_due_s,
                    data=report.data,
                )
                for report in reports
            ]
        )
    else:
        for report in reports:
            _show(report, default_engine if plan else None)
    return exit_codes.OK if all(report.valid for report in reports) else exit_codes.BAD_INPUT


@click.command()
def schema() -> None:
    """Print the JSON Schema of descriptors.

    Editors use it to complete and check TOML: Even Better TOML, Taplo.
    """
    json_output.show(describe.json_schema())


@dataclass(frozen=True, slots=True)
class _Report:
    file: Path
    problems: tuple[Problem, ...]
    cells: "tuple[describe.Cell, ...]"
    #: Found with the engines and notifiers of this installation.
    here: tuple[Problem, ...] = ()
    #: What a plan says about its data; None: it has none.
    data: "DataPlan | None" = None

    @property
    def valid(self) -> bool:
        return not any(problem.severity is Severity.ERROR for problem in (*self.problems, *self.here))

    @property
    def is_old(self) -> bool:
        """Whether the file is written for the old system, so that it can be upgraded."""
        return any(cell.descriptor.spec_version != describe.CURRENT for cell in self.cells)

    @property
    def next_due_s(self) -> float | None:
        """When the benchmark is next due, UTC seconds; None without a schedule."""
        if not self.cells:
            return None
        info = self.cells[0].descriptor.info
        return describe.due_after(info.scheduling, info.timezone, time.time())


def _runs(cells: "Sequence[describe.Cell]", default_engine: str) -> "list[tuple[describe.Cell, str]]":
    """The runs of a plan, each with the name of its engine."""
    return [(cell, refusals.engine_name(cell.descriptor, default_engine)) for cell in cells]


def _report(file: Path, overrides: dict[str, str], overlays: Sequence[Path], *, plan: bool) -> _Report:
    try:
        composed = composed_of(file, overlays)
    except BadInputError as error:  # the other files are checked all the same
        problems = error.problems or (Problem(path="", message=error.message, remedy=error.remedy),)
        return _Report(file, tuple(problems), ())
    reading = describe.read(composed.text, filename=str(file), overrides=overrides)
    reading = replace(reading, problems=composed.located(reading.problems))
    if reading.descriptor is None:
        return _Report(file, reading.problems, ())
    try:
        cells = describe.cells(reading.descriptor)
    except BadInputError as error:
        return _Report(file, (*reading.problems, *error.problems), ())
    here = tuple(dict.fromkeys(_here(cells, plan=plan)))
    return _Report(file, reading.problems, cells, here, _data(cells) if plan else None)


def _data(cells: "Sequence[describe.Cell]") -> "DataPlan | None":
    """The data of all runs that are to be fetched, each once; the sources are asked for their sizes."""
    needed = [source for cell in cells for source in run_data.sources_of(cell.descriptor)]
    wanted = {(source.src, source.digest, source.unpack): source for source in needed}
    if not wanted:
        return None
    cache = wiring.datasets(wiring.surroundings_of(Settings.from_env(os.environ)))
    try:
        return DataPlan(sources=tuple(map(cache.plan, wanted.values())), free_bytes=cache.free_bytes())
    except PlugInError:  # no installed source reads an address: it is among the problems
        return None


def _here(cells: "Sequence[describe.Cell]", *, plan: bool) -> Iterator[Problem]:
    """Problems of a descriptor on the engines and notifiers of this installation.

    For a plan also what the engine would only record.
    """
    settings = Settings.from_env(os.environ)
    surroundings = wiring.surroundings_of(settings)
    engines, notifiers = wiring.engines(surroundings), wiring.notifiers(surroundings)
    sources, prices = wiring.sources(surroundings), price_table.of_installation(settings)
    for cell in cells:
        yield from refusals.checked_here(
            cell.descriptor, engines, notifiers, sources, settings.engine, prices=prices
        )
        if plan and (engine := refusals.engine_of(cell.descriptor, engines, settings.engine)):
            yield from refusals.only_recorded(cell.descriptor, engine)


def composed_of(file: Path, overlays: Sequence[Path] = ()) -> "describe.Composed":
    """The text of a file, ``-`` for standard input, with its bases and overlays. Raises BadInputError."""
    folder = Path.cwd() if str(file) == "-" else file.resolve().parent
    return describe.compose(read_file(file), str(file), folder, overlays)


def checked(file: Path, overlays: Sequence[Path]) -> str | bytes:
    """The text of a file with its bases and overlays. Raises BadInputError with all problems."""
    return _valid(file, {}, overlays).text


def _valid(file: Path, overrides: dict[str, str], overlays: Sequence[Path]) -> "describe.Composed":
    """A file with its bases and overlays. Raises BadInputError with all problems."""
    composed = composed_of(file, overlays)
    reading = describe.read(composed.text, filename=str(file), overrides=overrides)
    if reading.descriptor is None:
        raise descriptor_files.invalid(
            composed.text, str(file), overrides, composed.located(reading.problems)
        )
    return composed


def show_resolved(file: Path, overrides: dict[str, str], overlays: Sequence[Path], *, as_json: bool) -> None:
    """Print every value of a file with its origin. Raises BadInputError with all problems."""
    composed = _valid(file, overrides, overlays)
    values = describe.located(describe.resolved(composed.text, overrides=overrides), composed)
    if as_json:
        json_output.show_list(map(api_descriptors.resolved_to_json, values))
    else:
        terminal.line(describe.resolved_text(values, file=str(file)), nl=False)


def _upgraded(file: Path) -> str:
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
        problem = Problem(
            path="", message=error.strerror or str(error), remedy="give the path of a descriptor file"
        )
        raise BadInputError(f"{file} cannot be read", problems=(problem,), file=str(file)) from error


def _show(report: _Report, default_engine: str | None) -> None:
    """Print problems on standard error, a valid file on standard output; with a default engine also its plan."""
    file = str(report.file)
    error_problems = [
        problem for problem in (*report.problems, *report.here) if problem.severity is Severity.ERROR
    ]
    warnings = [problem for problem in report.problems if problem.severity is Severity.WARNING]
    if warnings:
        noun, hint = (
            ("old spelling", f" (anubis validate --upgrade {file})") if report.is_old else ("warning", "")
        )
        terminal.warn(f"{file}: {units.counted(len(warnings), noun)}{hint}")
        errors.show_problems(warnings, file=file)
    if here := [problem for problem in report.here if problem.severity is Severity.WARNING]:
        terminal.warn(f"{file}: {units.counted(len(here), 'problem')} on this installation")
        errors.show_problems(here, file=file)
    if error_problems:
        terminal.error(f"{file}: {units.counted(len(error_problems), 'problem')}")
        errors.show_problems(error_problems, file=file)
        return
    first = report.cells[0].descriptor
    runs = units.counted(len(report.cells), "run")
    metrics = units.counted(len(first.metrics), "metric")
    terminal.line(f"{file}: valid: {first.info.name}, {runs}, {metrics}{_due(report)}")
    if default_engine is not None:
        _show_plan(_runs(report.cells, default_engine))
    if report.data:
        datasets_view.show_plan(report.data)


def _due(report: _Report) -> str:
    """The end of the line about a scheduled benchmark."""
    if report.next_due_s is None:
        return ""
    timezone = report.cells[0].descriptor.info.timezone
    due = datetime.fromtimestamp(report.next_due_s, schedules.zone(timezone))
    return f", next due {due:%Y-%m-%d %H:%M} {timezone}"


def _show_plan(runs: "Sequence[tuple[describe.Cell, str]]") -> None:
    axes = list(runs[0][0].values)
    columns = [
        *(tables.Column(title=axis.rpartition(".")[2] if len(axes) > 1 else axis) for axis in axes),
        tables.Column(title="ENGINE"),
        tables.Column(title="EXECUTIONS", right=True),
        tables.Column(title="AT MOST", right=True),
        tables.Column(title="COMMAND", cut=True),
    ]
    tables.show(columns, [_plan_row(*run) for run in runs])


def _plan_row(cell: "describe.Cell", engine: str) -> list[tables.Cell]:
    descriptor = cell.descriptor
    measure, ml = descriptor.measure, descriptor.ml
    executions = measure.most_executions
    return [
        *(str(value) for value in cell.values.values()),
        engine,
        str(executions),
        units.duration(executions * measure.timeout_s),
        f"{ml.benchmark_code or '(entry point of the image)'} {ml.args}".rstrip(),
    ]
