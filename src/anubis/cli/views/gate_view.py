"""A gate's report as the command line shows it: text for people, JSON for scripts, and its exit status."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Any

import click

from anubis.analysis.verdict_text import next_step, render
from anubis.cli import exit_codes, terminal
from anubis.cli.views import comparison_view
from anubis.model.errors import BadInputError, NotifyError
from anubis.model.verdict import Comparison, Judgement
from anubis.reporting import gate_report as reports
from anubis.reporting import posting
from anubis.reporting.gate_report import BenchmarkComparison, Report
from anubis.reporting.junit import junit
from anubis.reporting.markup import short_subject

#: With more verdicts than this, those without a change are only counted.
MOST_SHOWN = 20


class FailOn(StrEnum):
    """From what on the exit status is not 0. A benchmark that failed is told in any case."""

    REGRESSION = "regression"
    UNDECIDED = "undecided"
    NEVER = "never"


def exit_code(report: Report, fail_on: FailOn) -> int:
    """1 when a benchmark failed, else 3 when a metric regressed, else 4 when something could not be told."""
    if any(weighing.failure for weighing in report.comparisons):
        return exit_codes.FAILED
    if report.is_bad and fail_on is not FailOn.NEVER:
        return exit_codes.REGRESSION
    if report.is_undecided and fail_on is FailOn.UNDECIDED:
        return exit_codes.UNDECIDED
    return exit_codes.OK


def text(report: Report, *, everything: bool = False) -> Iterator[str]:
    """Every verdict with what to do next, benchmark by benchmark, and one line for all of them."""
    many = len(reports.verdicts(report)) > MOST_SHOWN and not everything
    for weighing in report.comparisons:
        yield from _benchmark(weighing, terminal.width(), without_unchanged=many)
    comparison = overall(report)
    if mean := comparison_view.mean_line(comparison):
        yield mean
    yield click.style(reports.title(report), bold=True)


def _benchmark(weighing: BenchmarkComparison, width: int | None, *, without_unchanged: bool) -> Iterator[str]:
    verdicts = weighing.comparison.verdicts if weighing.comparison else ()
    shown = [one for one in verdicts if one.judgement is not Judgement.UNCHANGED or not without_unchanged]
    if not (shown or weighing.failure or weighing.note):
        return
    yield click.style(f"{weighing.benchmark}{_subjects(weighing)}", bold=True)
    for verdict in shown:
        yield from (f"  {line}" for line in comparison_view.verdict_lines(verdict, width and width - 2))
    if weighing.failure:
        yield click.style(f"  failed: {weighing.failure}", fg="red")
    if weighing.note:
        yield f"  {weighing.note}"


def _subjects(weighing: BenchmarkComparison) -> str:
    old, new = short_subject(weighing.baseline), short_subject(weighing.contender)
    return f"  {old} -> {new}" if old and new else f"  {new}" if new else ""


def overall(report: Report) -> Comparison:
    """All verdicts as one comparison, for their geometric mean."""
    from anubis.analysis.samples.multiplicity import mean_effect  # noqa: PLC0415  numpy and scipy

    verdicts = tuple(verdict for _, verdict in reports.verdicts(report))
    effect, interval, count = mean_effect(verdicts)
    return Comparison(verdicts=verdicts, mean_effect=effect, mean_interval=interval, mean_count=count)


def as_json(report: Report, code: int) -> dict[str, Any]:
    """The report as scripts read it; effects are ratios minus one."""
    mean = overall(report)
    return {
        "exit_code": code,
        "title": reports.title(report),
        "mean_effect": mean.mean_effect,
        "mean_interval": mean.mean_interval,
        "mean_count": mean.mean_count,
        "weighings": [
            {
                "benchmark": weighing.benchmark,
                "baseline": weighing.baseline,
                "contender": weighing.contender,
                "failure": weighing.failure,
                "note": weighing.note,
                "verdicts": [
                    {**asdict(verdict), "text": render(verdict), "next_step": next_step(verdict)}
                    for verdict in (weighing.comparison.verdicts if weighing.comparison else ())
                ],
            }
            for weighing in report.comparisons
        ],
    }


def may_write(paths: Sequence[Path]) -> None:
    """Find out before anything is measured that a report has no place. Raises BadInputError."""
    for path in paths:
        if not path.absolute().parent.is_dir() or path.is_dir():
            raise BadInputError(f"{path} cannot be written", remedy="give a file in a folder that is there")


def write(report: Report, path: Path) -> None:
    """Write a file that others read: ``.xml`` for CI servers, ``.md`` for people, else what ``anubis notify`` posts."""
    try:
        if path.suffix == ".xml":
            path.write_text(junit(report), encoding="utf-8")
        elif path.suffix == ".md":
            path.write_text(reports.markdown(report), encoding="utf-8")
        else:
            reports.write(report, path)
    except OSError as error:
        raise BadInputError(
            f"{path}: {error.strerror}", remedy="give a file in a folder that can be written"
        ) from error


def post(report: Report, names: Sequence[str]) -> bool:
    """Post the report everywhere it is wanted, and say where; whether everybody took it."""
    taken = True
    for name in names:
        try:
            for address in posting.post(report, name, os.environ):
                terminal.note(f"posted to {address}")
        except NotifyError as error:
            terminal.error(error.message)
            if error.remedy:
                terminal.remedy(error.remedy)
            taken = False
    return taken
