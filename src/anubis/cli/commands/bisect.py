"""``anubis bisect``: searches for the commit that changed a metric."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anubis.analysis.quantities import effect_text
from anubis.cli import exit_codes, terminal
from anubis.cli.home import open_client
from anubis.cli.params import SHARE, json_option, mapping, overrides_option
from anubis.cli.views import comparison_view, json_output, units
from anubis.cli.views.follow import follow
from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.model.run import Run
from anubis.reporting.markup import one_line

if TYPE_CHECKING:
    from anubis.api import bisections as api_bisections
    from anubis.bisection import bisect_request
    from anubis.bisection.bisect_request import BisectRequest
    from anubis.bisection.bisection import BisectResult, CommitResult
    from anubis.client import Client
else:  # numpy and scipy
    api_bisections = late("anubis.api.bisections")
    bisect_request = late("anubis.bisection.bisect_request")

#: By the value of a side.
_COLOURS = {"good": "green", "bad": "red", "skipped": "yellow"}


@click.command()
@click.argument("what", nargs=-1, metavar="[GOOD BAD FILE]")
@click.option("--alert", "alert_id", metavar="ALERT", help="Search the range of this alert instead.")
@click.option(
    "--metric", help="Metric that changed (default: the only one declared, or the most severe of the alert)."
)
@click.option(
    "--runs",
    type=click.IntRange(3, 1000),
    default=12,
    show_default=True,
    help="Maximum number of runs for each commit.",
)
@click.option(
    "--min-effect",
    type=SHARE,
    default="2%",
    show_default=True,
    metavar="SHARE",
    help="Ignore smaller effects.",
)
@click.option(
    "--repository",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Repository of the commits (default: that of FILE).",
)
@click.option("--all-parents", is_flag=True, help="Search merged branches too.")
@overrides_option("Override a field of the descriptor")
@json_option
def bisect(
    *,
    what: tuple[str, ...],
    alert_id: str | None,
    metric: str | None,
    runs: int,
    min_effect: float,
    repository: Path | None,
    all_parents: bool,
    overrides: tuple[tuple[str, str], ...],
    as_json: bool,
) -> int:
    """Find the first commit after GOOD, up to BAD, that changed a metric of FILE.

    Each commit is checked out into a separate folder and measured with as few runs as the noise allows; stored runs
    are used. After an interruption, the same command continues where it stopped.

    Exits 4 if GOOD and BAD do not differ, or if several commits remain that could not be measured.
    """
    with open_client() as client:
        ask = _question(
            client, what, alert_id, metric=metric, repository=repository, overrides=mapping(overrides)
        )
        ask = replace(ask, max_runs=runs, min_effect=min_effect, all_parents=all_parents)
        result = client.bisections.search(
            ask,
            measure=lambda due: _measured(client, due),
            answered=lambda answer: _show_commit(ask, answer),
        )
    if as_json:
        json_output.show(api_bisections.bisection_to_json(ask, result))
    else:
        _show(ask, result)
    return exit_codes.OK if len(result.suspects) == 1 else exit_codes.UNDECIDED


def _question(
    client: "Client",
    what: tuple[str, ...],
    alert_id: str | None,
    *,
    metric: str | None,
    repository: Path | None,
    overrides: dict[str, str],
) -> "BisectRequest":
    if alert_id is not None and not what and not overrides:
        return client.bisections.question_of_alert(alert_id, metric=metric, repository=repository)
    if alert_id is not None or len(what) != 3:
        raise BadInputError(
            "a bisection needs a good commit, a bad commit and a descriptor file, or an alert",
            remedy="anubis bisect GOOD BAD FILE.toml, or anubis bisect --alert ALERT",
        )
    good, bad, file = what
    return bisect_request.from_file(
        Path(file), good, bad, metric=metric, repository=repository, overrides=overrides
    )


def _measured(client: "Client", runs: Sequence[Run]) -> Sequence[Run]:
    commits = dict.fromkeys(run.descriptor.subject.commit or "" for run in runs)
    terminal.note(
        f"measuring {', '.join(commit[:12] for commit in commits)}: {units.counted(len(runs), 'run')}"
    )
    return follow(client, runs, cancels=True)


def _show_commit(ask: "BisectRequest", answer: "CommitResult") -> None:
    """Print a line about a commit on standard error."""
    about = one_line(ask.repository.about(answer.commit), 80)
    verdict = answer.verdict
    effect = (
        "" if verdict is None or verdict.effect is None else effect_text(verdict.effect, verdict.interval)
    )
    parts = [
        answer.commit[:12],
        terminal.style(f"{answer.side.value:7}", fg=_COLOURS[answer.side]),
        effect,
        f"n={verdict.n_contender}" if verdict else "",
        about,
        one_line(answer.why, 120),
        f"({units.counted(answer.suspects, 'commit')} left)",
    ]
    terminal.progress("  ".join(part for part in parts if part))


def _show(ask: "BisectRequest", result: "BisectResult") -> None:
    if len(result.suspects) > 1:
        terminal.line(
            terminal.style(f"the first bad commit is one of these {len(result.suspects)}", bold=True)
        )
        for commit in result.suspects:
            terminal.line(f"  {commit}  {one_line(ask.repository.about(commit), 120)}")
        terminal.line(
            "All but the last are undecided (see above). Make one of them measurable, or allow more --runs."
        )
        return
    (first,) = result.suspects
    terminal.line(terminal.style(f"first bad commit: {first}", bold=True))
    terminal.line(f"  {one_line(ask.repository.about(first), 120)}")
    if result.verdict:
        for line in comparison_view.verdict_lines(result.verdict, terminal.width()):
            terminal.line(f"  {line}")
