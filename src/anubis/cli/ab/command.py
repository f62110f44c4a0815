"""``anubis ab``: measures two descriptors in alternating order until they are decided."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anubis.cli import terminal
from anubis.cli.errors import warned
from anubis.cli.home import open_client
from anubis.cli.params import REF, SHARE, SPAN, json_option, mapping, overrides_option
from anubis.cli.views import json_output
from anubis.cli.views.follow import follow
from anubis.cli.views.gate_view import FailOn
from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.model.run import Run

if TYPE_CHECKING:
    from anubis.alternation import plan as plans
    from anubis.api import alternations as api_alternations
    from anubis.cli.ab import view
    from anubis.client import Client
else:  # numpy and scipy
    api_alternations = late("anubis.api.alternations")
    plans = late("anubis.alternation.plan")
    view = late("anubis.cli.ab.view")


@click.command()
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, metavar="[A B]")
@click.option("--resume", type=REF, metavar="RUN", help="Continue the alternation of this run instead.")
@click.option(
    "--rounds",
    type=click.IntRange(6, 1000),
    metavar="N",
    help="Measure each side at most N times, an even number (default: 60).",
)
@click.option("--max-time", type=SPAN, metavar="SPAN", help="Stop when the runs took this long, as in 30m.")
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="Judge only this metric; repeatable."
)
@click.option(
    "--min-effect",
    type=SHARE,
    metavar="SHARE",
    help="Ignore smaller effects (default: that of the descriptor, else 2%).",
)
@overrides_option("Override a field of both descriptors")
@click.option("--script", type=click.Path(path_type=Path), metavar="DIR|FILE", help="Code of both sides.")
@click.option(
    "--fail-on",
    type=click.Choice([each.value for each in FailOn]),
    default=FailOn.REGRESSION.value,
    show_default=True,
    help="Lowest severity that makes the exit status non-zero.",
)
@json_option
def ab(
    *,
    files: tuple[Path, ...],
    resume: str | None,
    rounds: int | None,
    max_time: float | None,
    metrics: tuple[str, ...],
    min_effect: float | None,
    overrides: tuple[tuple[str, str], ...],
    script: Path | None,
    fail_on: str,
    as_json: bool,
) -> int:
    """Measure descriptors A and B in alternating order until it is decided whether B is worse.

    Rounds are added until every metric is a regression, an improvement or unchanged within the minimum effect, or until
    the budget is spent. At most 5 % of the comparisons of equal code find a change, whenever they stop.

    Exits 1 if a benchmark failed, 5 if a run was cancelled, else 3 if a metric regressed, else 4 with --fail-on undecided
    if a metric is undecided, else 0.
    """
    with open_client() as client:
        if resume is not None:
            if (
                files
                or rounds
                or max_time is not None
                or metrics
                or min_effect is not None
                or overrides
                or script
            ):
                raise BadInputError(
                    "--resume continues an alternation as it was begun, so it takes no files and no other choices",
                    remedy="remove them, or begin a new alternation",
                )
            alternation = client.alternations.get(resume)
        else:
            plan = plans.Plan(
                rounds=_even(rounds or 60), max_s=max_time, min_effect=min_effect, metrics=metrics
            )
            alternation = client.alternations.begin(
                _two(files), plan, overrides=mapping(overrides), script=script, warned=warned
            )
            terminal.note(f"continue after an interruption with: anubis ab --resume {alternation.runs[0].id}")
        state = client.alternations.proceed(
            alternation,
            measure=lambda runs: _measured(client, runs),
            judged=lambda found: terminal.progress(view.progress(found)),
        )
    code = view.exit_code(state, FailOn(fail_on))
    if as_json:
        json_output.show({"exit_code": code, **api_alternations.alternation_to_json(state)})
    else:
        for line in view.lines(state):
            terminal.line(line)
    return code


def _two(files: Sequence[Path]) -> Sequence[Path]:
    if len(files) != 2:
        raise BadInputError(
            f"an alternation compares two descriptor files, and {len(files)} were named",
            remedy="anubis ab A.toml B.toml, or anubis ab --resume RUN",
        )
    return files


def _even(rounds: int) -> int:
    if rounds % 2:
        raise BadInputError(f"--rounds is {rounds}, which is not even", remedy=f"use --rounds {rounds + 1}")
    return rounds


def _measured(client: "Client", runs: Sequence[Run]) -> Sequence[Run]:
    return follow(client, runs, cancels=False, in_detail=False)
