"""``anubis check``: the gate for continuous integration."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from anubis.cli import exit_codes
from anubis.cli.home import open_client
from anubis.cli.params import PAIR, REF, SHARE, json_option, mapping
from anubis.cli.select.gate_sides import NEWEST, Asked, contests_of
from anubis.cli.views import gate_view, json_output
from anubis.cli.views.gate_view import FailOn
from anubis.reporting import posting
from anubis.reporting.gate_report import Report, markdown
from anubis.reporting.junit import junit

FORMATS = ("text", "json", "markdown", "junit")


def _asked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Who meets whom."""
    for decorate in reversed(
        (
            click.argument("what", type=REF, nargs=-1, metavar="[RUN...|FILE...]"),
            click.option(
                "--runs",
                type=click.IntRange(1, 1000),
                metavar="N",
                help="Run FILE N times first (default: once).",
            ),
            click.option(
                "--set",
                "overrides",
                type=PAIR,
                multiple=True,
                metavar="PATH=VALUE",
                help="Override a field of FILE, info.labels.branch=topic for example; repeatable.",
            ),
            click.option(
                "--script", type=click.Path(path_type=Path), metavar="DIR|FILE", help="Give FILE this code."
            ),
            click.option(
                "--baseline",
                type=REF,
                metavar="RUN,...|FILE",
                help="Compare with these runs, or run this descriptor beside FILE and compare with it.",
            ),
            click.option(
                "--baseline-subject",
                metavar="SUBJECT",
                default="",
                help="Compare with what is stored of this commit or version.",
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


def _answered(function: Callable[..., Any]) -> Callable[..., Any]:
    """What counts, and where it is said."""
    for decorate in reversed(
        (
            click.option(
                "--min-effect",
                type=SHARE,
                metavar="SHARE",
                help="Smaller effects do not count (default: as the descriptor says, else 2%).",
            ),
            click.option(
                "--format", "form", type=click.Choice(FORMATS), default="text", help="What to print."
            ),
            click.option(
                "--report",
                "files",
                type=click.Path(path_type=Path),
                multiple=True,
                metavar="FILE",
                help="Also write .xml (JUnit), .md (Markdown) or what anubis notify posts; repeatable.",
            ),
            click.option(
                "--post", "names", multiple=True, metavar="NAME", help="Post it: github, gitlab; repeatable."
            ),
            click.option(
                "--fail-on",
                type=click.Choice([each.value for each in FailOn]),
                default=FailOn.UNDECIDED.value,
                show_default=True,
                help="From what on the exit status is not 0.",
            ),
            click.option(
                "--all", "everything", is_flag=True, help="Show every verdict, however many there are."
            ),
        )
    ):
        function = decorate(function)
    return function


@click.command()
@_asked
@_answered
@json_option
def check(
    *,
    what: tuple[str, ...],
    runs: int | None,
    overrides: tuple[tuple[str, str], ...],
    script: Path | None,
    baseline: str | None,
    baseline_subject: str,
    labels: tuple[tuple[str, str], ...],
    min_effect: float | None,
    form: str,
    files: tuple[Path, ...],
    names: tuple[str, ...],
    fail_on: str,
    everything: bool,
    as_json: bool,
) -> int:
    """Say whether a change made anything worse, by exit status.

    Weighs the runs, or the family of the last one, against the current level of their history: the newest runs of
    other subjects without a change between them. FILE is run first.

    Exits 1 when a benchmark failed, else 3 when a metric regressed, else 4 when something cannot be told, else 0.
    """
    posting.known(names)
    gate_view.may_write(files)
    asked = Asked(
        what=what,
        runs=runs,
        overrides=mapping(overrides),
        script=script,
        baseline=baseline,
        subject=baseline_subject,
        labels=mapping(labels),
    )
    with open_client() as client:
        report = client.gate.judge(contests_of(client, asked), min_effect=min_effect)
    code = gate_view.exit_code(report, FailOn(fail_on))
    _print(report, code, "json" if as_json else form, everything=everything)
    for file in files:
        gate_view.write(report, file)
    taken = gate_view.post(report, names)
    return code if taken else code or exit_codes.FAILED


def _print(report: Report, code: int, form: str, *, everything: bool) -> None:
    if form == "json":
        json_output.show(gate_view.as_json(report, code))
    elif form == "text":
        for line in gate_view.text(report, everything=everything):
            click.echo(line)
    else:
        click.echo(markdown(report) if form == "markdown" else junit(report), nl=False)
