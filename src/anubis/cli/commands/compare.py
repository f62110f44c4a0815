"""``anubis compare``: compares two sets of runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from anubis.cli import terminal
from anubis.cli.families import Key, cells_of, key_text, two_files
from anubis.cli.home import open_client
from anubis.cli.params import PAIR, REF, SHARE, json_option, mapping
from anubis.cli.select import refs
from anubis.cli.views import comparison_view, json_output
from anubis.cli.views.comparison_view import exit_code, judged, show
from anubis.cli.views.overrides_view import overrides_of, side_lines
from anubis.contracts.runs import RunQuery
from anubis.model.errors import BadInputError

if TYPE_CHECKING:
    from anubis.client import Client


@click.command()
@click.argument("baseline", type=REF, default=refs.LAST, metavar="[BASELINE]")
@click.argument("contender", type=REF, required=False, metavar="[CONTENDER]")
@click.option(
    "--label",
    "labels",
    type=PAIR,
    multiple=True,
    metavar="KEY=VALUE",
    help="Restrict sides that are given as labels; repeatable.",
)
@click.option("--metric", "metrics", multiple=True, help="Judge only this metric; repeatable.")
@click.option(
    "--min-effect",
    type=SHARE,
    default="2%",
    show_default=True,
    metavar="SHARE",
    help="Ignore smaller effects.",
)
@click.option("--plot/--no-plot", default=None, help="Draw the runs of both sides (default: on a terminal).")
@json_option
def compare(
    *,
    baseline: str,
    contender: str | None,
    labels: tuple[tuple[str, str], ...],
    metrics: tuple[str, ...],
    min_effect: float,
    plot: bool | None,
    as_json: bool,
) -> int:
    """Judge whether CONTENDER is better or worse than BASELINE.

    Each side is a run, a family, a comma-separated list of them, or labels (team=vision,branch=main). With BASELINE
    alone, the two files of that run's family are compared, as after "anubis run A.toml B.toml".

    Exits 3 if a metric regressed, else 4 if one is undecided, else 0.
    """
    with open_client() as client:
        comparisons = [
            (key, judged(client, old, new, min_effect=min_effect, metrics=metrics))
            for key, old, new in _sides(client, baseline, contender, mapping(labels))
        ]
        overrides = [
            (overrides_of(client, one.baseline), overrides_of(client, one.contender))
            for _, one in comparisons
        ]
    if as_json:
        json_output.show(
            [
                {
                    "cell": dict(key),
                    **comparison_view.as_json(one),
                    "overrides": {"baseline": old, "contender": new},
                }
                for (key, one), (old, new) in zip(comparisons, overrides, strict=True)
            ]
        )
    else:
        for (key, one), sides in zip(comparisons, overrides, strict=True):
            show(one, about=key_text(key), plot=terminal.width() is not None if plot is None else plot)
            for line in side_lines(*sides):
                click.echo(line)
    return exit_code(one for _, one in comparisons)


def _sides(
    client: "Client", baseline: str, contender: str | None, labels: dict[str, str]
) -> Sequence[tuple[Key, Sequence[str], Sequence[str]]]:
    if contender is not None:
        within = RunQuery(labels=labels)
        return [((), refs.expand(client, baseline, within), refs.expand(client, contender, within))]
    sides = list(two_files(cells_of(client.runs.family(baseline))))
    if not sides:
        raise BadInputError(
            f"{baseline} is not part of a comparison of two files",
            remedy="name two runs: anubis compare BASELINE CONTENDER",
        )
    return sides
