"""``anubis check``: the gate for continuous integration."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anubis.cli import exit_codes, terminal
from anubis.cli.home import open_client
from anubis.cli.params import PAIR, REF, SHARE, Renamed, json_option, mapping, mean_option, overrides_option
from anubis.cli.select.gate_sides import CONTROL_ROUNDS, NEWEST, Asked, sides_of
from anubis.cli.views import gate_view, json_output
from anubis.cli.views.gate_view import FailOn
from anubis.late import late
from anubis.reporting import posting
from anubis.reporting.gate_report import Report, markdown
from anubis.reporting.junit import junit

if TYPE_CHECKING:
    from anubis.api import gate as api_gate
else:  # numpy and scipy
    api_gate = late("anubis.api.gate")

FORMATS = ("text", "json", "markdown", "junit")


def _side_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that select the runs on both sides."""
    for decorate in reversed(
        (
            click.argument("what", type=REF, nargs=-1, metavar="[RUN...|FILE...]"),
            click.option(
                "--rounds",
                "--runs",
                cls=Renamed,
                type=click.IntRange(1, 1000),
                metavar="N",
                help="Run FILE N times first (default: once).",
            ),
            overrides_option("Override a field of FILE, for example info.labels.branch=topic"),
            click.option(
                "--script", type=click.Path(path_type=Path), metavar="DIR|FILE", help="Code of FILE."
            ),
            click.option(
                "--baseline",
                type=REF,
                metavar="RUN,...|FILE",
                help="Compare with these runs, or with runs of this descriptor, alternating with those of FILE.",
            ),
            click.option(
                "--control",
                is_flag=True,
                help=f"Measure FILE against itself ({CONTROL_ROUNDS} rounds unless --rounds is given): every change is false.",
            ),
            click.option(
                "--baseline-subject",
                metavar="SUBJECT",
                default="",
                help="Compare with the stored runs of this commit or version.",
            ),
            click.option(
                "--baseline-label",
                "labels",
                type=PAIR,
                multiple=True,
                metavar="KEY=VALUE",
                help=f"Compare with the newest {NEWEST} runs that have this label; repeatable.",
            ),
        )
    ):
        function = decorate(function)
    return function


def _output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options for thresholds and output."""
    for decorate in reversed(
        (
            click.option(
                "--metric",
                "metrics",
                multiple=True,
                metavar="NAME",
                help="Judge only this metric; repeatable.",
            ),
            click.option(
                "--min-effect",
                type=SHARE,
                metavar="SHARE",
                help="Ignore smaller effects (default: that of the descriptor, else 2%).",
            ),
            click.option(
                "--format", "form", type=click.Choice(FORMATS), default="text", help="Output format."
            ),
            click.option(
                "--report",
                "files",
                type=click.Path(path_type=Path),
                multiple=True,
                metavar="FILE",
                help="Also write the report: .xml is JUnit, .md Markdown, else for anubis notify; repeatable.",
            ),
            click.option(
                "--post",
                "names",
                multiple=True,
                metavar="NAME",
                help="Post the report to github or gitlab; repeatable.",
            ),
            click.option(
                "--fail-on",
                type=click.Choice([each.value for each in FailOn]),
                default=FailOn.REGRESSION.value,
                show_default=True,
                help="Lowest severity that makes the exit status non-zero; a crossed threshold counts as a regression.",
            ),
            click.option(
                "--all", "everything", is_flag=True, help="Show every verdict, however many there are."
            ),
            mean_option,
        )
    ):
        function = decorate(function)
    return function


@click.command()
@_side_options
@_output_options
@json_option
def check(
    *,
    what: tuple[str, ...],
    rounds: int | None,
    overrides: tuple[tuple[str, str], ...],
    script: Path | None,
    baseline: str | None,
    control: bool,
    baseline_subject: str,
    labels: tuple[tuple[str, str], ...],
    metrics: tuple[str, ...],
    min_effect: float | None,
    form: str,
    files: tuple[Path, ...],
    names: tuple[str, ...],
    fail_on: str,
    everything: bool,
    mean: bool,
    as_json: bool,
) -> int:
    """Report by exit status whether a change made anything worse.

    Compares the runs, or the family of the last run, with the current level of their series: the newest runs of
    other subjects without a change between them. A descriptor FILE is run first. Two FILEs of the same benchmark
    are compared with each other, the first as the baseline.

    Exits 1 if a benchmark failed, else 3 if a --control shows a change, else 3 if a metric regressed or crosses a threshold of its descriptor, else 4 with
    --fail-on undecided if a verdict is undecided, else 0.
    """
    posting.known(names)
    gate_view.may_write(files)
    asked = Asked(
        what=what,
        rounds=rounds,
        overrides=mapping(overrides),
        script=script,
        baseline=baseline,
        subject=baseline_subject,
        labels=mapping(labels),
        control=control,
    )
    with open_client() as client:
        report = client.gate.judge(sides_of(client, asked), min_effect=min_effect, metrics=metrics)
    code = gate_view.exit_code(report, FailOn(fail_on), control=control)
    _print(report, code, "json" if as_json else form, everything=everything, mean=mean)
    for file in files:
        gate_view.write(report, file)
    posted = gate_view.post(report, names)
    return code if posted else code or exit_codes.FAILED


def _print(report: Report, code: int, form: str, *, everything: bool, mean: bool) -> None:
    if form == "json":
        json_output.show({"exit_code": code, **api_gate.report_to_json(report)})
    elif form == "text":
        for line in gate_view.text(report, everything=everything, mean=mean):
            terminal.line(line)
    else:
        terminal.line(markdown(report) if form == "markdown" else junit(report), nl=False)
