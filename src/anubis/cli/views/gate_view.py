"""The report of a gate: text, exit status, files, and posting."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from anubis.analysis.verdict_text import bound_text
from anubis.cli import exit_codes, terminal
from anubis.cli.views import comparison_view, tables
from anubis.late import late
from anubis.model.errors import BadInputError, NotifyError
from anubis.model.verdict import Judgement
from anubis.reporting import gate_report as reports
from anubis.reporting import posting
from anubis.reporting.gate_report import BenchmarkComparison, Report
from anubis.reporting.junit import junit
from anubis.reporting.markup import short_subject

if TYPE_CHECKING:
    from anubis.api import gate as api_gate
    from anubis.reporting import report_file
else:  # numpy and scipy, pydantic
    api_gate = late("anubis.api.gate")
    report_file = late("anubis.reporting.report_file")

#: With more verdicts than this, those without a change are only counted.
MOST_SHOWN = 20


class FailOn(StrEnum):
    """Lowest severity that makes the exit status non-zero. A failed benchmark always does."""

    REGRESSION = "regression"
    UNDECIDED = "undecided"
    NEVER = "never"


def exit_code(report: Report, fail_on: FailOn, *, control: bool = False) -> int:
    """1 if a benchmark failed, else 3 for a regression or a crossed threshold, else 4 if a verdict is undecided.

    In an A/A ``control`` an improvement is as false as a regression.
    """
    if any(entry.failure for entry in report.comparisons):
        return exit_codes.FAILED
    is_bad = report.has_changes if control else report.is_bad
    if is_bad and fail_on is not FailOn.NEVER:
        return exit_codes.REGRESSION
    if report.is_undecided and fail_on is FailOn.UNDECIDED:
        return exit_codes.UNDECIDED
    return exit_codes.OK


def text(report: Report, *, everything: bool = False, mean: bool = False) -> Iterator[str]:
    """Every verdict with the next step, benchmark by benchmark, and one line for the whole report.

    ``mean``: also the geometric mean of unlike metrics.
    """
    many = len(reports.verdicts(report)) > MOST_SHOWN and not everything
    for entry in report.comparisons:
        yield from _benchmark(entry, terminal.width(), without_unchanged=many)
    if line := comparison_view.mean_line(api_gate.overall(report), unlike=mean):
        yield line
    if decides := reports.what_decides(report):
        yield from tables.folded(decides, terminal.width())
    if report.controls:
        yield from tables.folded(reports.controls_text(report.controls), terminal.width())
    yield terminal.style(reports.title(report), bold=True)


def _benchmark(entry: BenchmarkComparison, width: int | None, *, without_unchanged: bool) -> Iterator[str]:
    verdicts = entry.comparison.verdicts if entry.comparison else ()
    shown = [one for one in verdicts if one.judgement is not Judgement.UNCHANGED or not without_unchanged]
    disturbance = reports.disturbance(entry)
    if not (shown or entry.crossed or entry.failure or entry.note or disturbance):
        return
    yield terminal.style(f"{entry.benchmark}{_subjects(entry)}", bold=True)
    for verdict in shown:
        yield from (f"  {line}" for line in comparison_view.verdict_lines(verdict, width and width - 2))
    for bound in entry.crossed:
        for line in comparison_view.in_parts(bound_text(bound), width and width - 2):
            yield terminal.style(f"  {line}", fg="red", bold=True)
    if entry.failure:
        yield terminal.style(f"  failed: {entry.failure}", fg="red")
    if disturbance:
        yield f"  {disturbance}"
    if entry.note:
        yield f"  {entry.note}"


def _subjects(entry: BenchmarkComparison) -> str:
    old, new = reports.baseline_text(entry), short_subject(entry.contender)
    return f"  {old} -> {new}" if old and new else f"  {new}" if new else ""


def may_write(paths: Sequence[Path]) -> None:
    """Check before anything is measured that the reports can be written. Raises BadInputError."""
    for path in paths:
        if not path.absolute().parent.is_dir() or path.is_dir():
            raise BadInputError(f"{path} cannot be written", remedy="give a file in an existing folder")


def write(report: Report, path: Path) -> None:
    """Write a report: JUnit for ``.xml``, Markdown for ``.md``, else the file that ``anubis notify`` posts."""
    try:
        if path.suffix == ".xml":
            path.write_text(junit(report), encoding="utf-8")
        elif path.suffix == ".md":
            path.write_text(reports.markdown(report), encoding="utf-8")
        else:
            report_file.write(report, path)
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror}", remedy="give a file in a writable folder") from error


def post(report: Report, names: Sequence[str]) -> bool:
    """Post the report to each of ``names`` and print the addresses; whether all were successful."""
    successful = [_shown(post) for post in posts(report, names)]
    return all(successful)


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One attempt to post a report."""

    #: Name of the service, as in ``--post``.
    name: str
    addresses: Sequence[str] = ()
    #: None: the report was posted.
    error: NotifyError | None = None


def posts(report: Report, names: Sequence[str]) -> Iterator[Post]:
    """Post the report to each of ``names``."""
    for name in names:
        try:
            yield Post(name=name, addresses=posting.post(report, name, os.environ))
        except NotifyError as error:
            yield Post(name=name, error=error)


def _shown(post: Post) -> bool:
    """Print the result of a post; whether it was successful."""
    for address in post.addresses:
        terminal.note(f"posted to {address}")
    if post.error:
        terminal.error(post.error.message)
        if post.error.remedy:
            terminal.remedy(post.error.remedy)
    return post.error is None
