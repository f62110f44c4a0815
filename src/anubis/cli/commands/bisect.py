"""``anubis bisect``: which commit changed a metric."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anubis.analysis.verdict_text import effect_text, next_step, render
from anubis.bisection import bisect_request
from anubis.bisection.bisect_request import BisectRequest
from anubis.bisection.commit_search import Side
from anubis.cli import exit_codes, terminal
from anubis.cli.home import open_client
from anubis.cli.params import PAIR, SHARE, json_option, mapping
from anubis.cli.views import comparison_view, json_output, units
from anubis.cli.views.follow import follow
from anubis.model.errors import BadInputError
from anubis.model.run import Run
from anubis.reporting.markup import one_line

if TYPE_CHECKING:
    from anubis.bisection.bisection import BisectResult, CommitResult
    from anubis.client import Client

_COLOURS = {Side.GOOD: "green", Side.BAD: "red", Side.SKIPPED: "yellow"}


@click.command()
@click.argument("what", nargs=-1, metavar="[GOOD BAD FILE]")
@click.option("--alert", "alert_id", metavar="ALERT", help="Search the range of this alert instead.")
@click.option("--metric", help="What changed (default: the only one declared, or the alert's gravest).")
@click.option(
    "--runs",
    type=click.IntRange(3, 1000),
    default=12,
    show_default=True,
    help="Run no commit more often than that.",
)
@click.option(
    "--min-effect",
    type=SHARE,
    default="2%",
    show_default=True,
    metavar="SHARE",
    help="Smaller effects do not count.",
)
@click.option(
    "--repository",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Repository of the commits (default: the one FILE lies in).",
)
@click.option("--all-parents", is_flag=True, help="Look inside merged branches too.")
@click.option(
    "--set",
    "overrides",
    type=PAIR,
    multiple=True,
    metavar="PATH=VALUE",
    help="Override a field of the descriptor; repeatable.",
)
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
    """Find the first commit after GOOD, up to BAD, since which a metric of FILE is different.

    Each commit is checked out into a folder of its own and measured with as few runs as the noise allows; runs that
    are stored already count. Interrupted, the same command goes on where it stopped.

    Exits 4 when GOOD and BAD do not differ, or several commits are left that could not be measured.
    """
    with open_client() as client:
        ask = _question(
            client, what, alert_id, metric=metric, repository=repository, overrides=mapping(overrides)
        )
        ask = replace(ask, max_runs=runs, min_effect=min_effect, all_parents=all_parents)
        found = client.bisections.search(
            ask,
            measure=lambda due: _measured(client, due),
            answered=lambda answer: _tell(ask, answer),
        )
    if as_json:
        json_output.show(_found_json(ask, found))
    else:
        _show(ask, found)
    return exit_codes.OK if len(found.suspects) == 1 else exit_codes.UNDECIDED


def _question(
    client: "Client",
    what: tuple[str, ...],
    alert_id: str | None,
    *,
    metric: str | None,
    repository: Path | None,
    overrides: dict[str, str],
) -> BisectRequest:
    if alert_id is not None and not what and not overrides:
        return client.bisections.question_of_alert(alert_id, metric=metric, repository=repository)
    if alert_id is not None or len(what) != 3:
        raise BadInputError(
            "a bisection needs a good commit, a bad one and a descriptor file, or an alert",
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


def _tell(ask: BisectRequest, answer: "CommitResult") -> None:
    """One line on standard error for each commit."""
    about = one_line(ask.repository.about(answer.commit), 80)
    verdict = answer.verdict
    effect = (
        "" if verdict is None or verdict.effect is None else effect_text(verdict.effect, verdict.interval)
    )
    parts = [
        answer.commit[:12],
        click.style(f"{answer.side.value:7}", fg=_COLOURS[answer.side]),
        effect,
        f"n={verdict.n_contender}" if verdict else "",
        about,
        one_line(answer.why, 120),
        f"({units.counted(answer.suspects, 'commit')} left)",
    ]
    click.echo("  ".join(part for part in parts if part), err=True)


def _show(ask: BisectRequest, found: "BisectResult") -> None:
    if len(found.suspects) > 1:
        click.secho(f"the first bad commit is one of these {len(found.suspects)}", bold=True)
        for commit in found.suspects:
            click.echo(f"  {commit}  {one_line(ask.repository.about(commit), 120)}")
        click.echo(
            "All but the last could not be told: see the lines above; then mend one, or allow more --runs."
        )
        return
    (first,) = found.suspects
    click.secho(f"first bad commit: {first}", bold=True)
    click.echo(f"  {one_line(ask.repository.about(first), 120)}")
    if found.verdict:
        for line in comparison_view.verdict_lines(found.verdict, terminal.width()):
            click.echo(f"  {line}")


def _found_json(ask: BisectRequest, found: "BisectResult") -> dict[str, Any]:
    verdict = found.verdict
    return {
        "good": ask.good,
        "bad": ask.bad,
        "metric": ask.metric,
        "family_id": ask.family,
        "first_bad": found.suspects[0] if len(found.suspects) == 1 else None,
        "suspects": list(found.suspects),
        "last_good": found.last_good,
        "verdict": verdict and {**asdict(verdict), "text": render(verdict), "next_step": next_step(verdict)},
        "answers": [
            {
                "commit": answer.commit,
                "side": answer.side.value,
                "why": answer.why,
                "runs": answer.verdict.n_contender if answer.verdict else 0,
                "effect": answer.verdict.effect if answer.verdict else None,
                "interval": answer.verdict.interval if answer.verdict else None,
            }
            for answer in found.commits
        ],
    }
