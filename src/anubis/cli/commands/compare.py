"""``anubis compare``: compares two sets of runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from anubis.cli import terminal
from anubis.cli.families import Key, cells_of, files_of, key_text, two_files
from anubis.cli.home import open_client
from anubis.cli.params import REF, SHARE, json_option, labels_option, mapping, mean_option
from anubis.cli.select import refs
from anubis.cli.views import comparison_view, json_output
from anubis.cli.views.comparison_view import exit_code, judged, show
from anubis.cli.views.overrides_view import overrides_of, side_lines
from anubis.contracts.runs import RunQuery
from anubis.model.errors import BadInputError
from anubis.model.labels import is_control

if TYPE_CHECKING:
    from anubis.client import Client

#: Runs in one page of the search for the last comparison.
PAGE = 1000


@click.command()
@click.argument("baseline", type=REF, required=False, metavar="[BASELINE]")
@click.argument("contender", type=REF, required=False, metavar="[CONTENDER]")
@labels_option("Restrict sides that are given as labels")
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
@mean_option
@json_option
def compare(
    *,
    baseline: str | None,
    contender: str | None,
    labels: tuple[tuple[str, str], ...],
    metrics: tuple[str, ...],
    min_effect: float,
    plot: bool | None,
    mean: bool,
    as_json: bool,
) -> int:
    """Judge whether CONTENDER is better or worse than BASELINE.

    Each side is a run, a family, a comma-separated list of them, or labels (team=vision,branch=main). With BASELINE
    alone, the two files of that run's family are compared, as after "anubis run A.toml B.toml"; without arguments,
    those of the last such family.

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
            drawn = terminal.width() is not None if plot is None else plot
            show(one, about=key_text(key), plot=drawn, mean=mean)
            for line in side_lines(*sides):
                terminal.line(line)
    return exit_code(one for _, one in comparisons)


def _sides(
    client: "Client", baseline: str | None, contender: str | None, labels: dict[str, str]
) -> Sequence[tuple[Key, Sequence[str], Sequence[str]]]:
    if baseline is None:
        return _last_comparison(client)
    if contender is not None:
        within = RunQuery(labels=labels)
        old, new = (refs.expand(client, side, within, controls=False) for side in (baseline, contender))
        return [((), old, new)]
    sides = list(two_files(cells_of(client.runs.family(baseline))))
    if not sides:
        raise BadInputError(
            f"{baseline} is not part of a comparison of two files",
            remedy="name two runs: anubis compare BASELINE CONTENDER",
        )
    return sides


def _last_comparison(client: "Client") -> Sequence[tuple[Key, Sequence[str], Sequence[str]]]:
    """The sides of the newest family of two files; later runs that are not part of one are passed over."""
    looked_at: set[str] = set()
    page = client.runs.find(RunQuery(limit=PAGE))
    while page:
        for row in page:
            if row.family_id is None or row.family_id in looked_at or "file" not in row.cell:
                continue
            if is_control(row.labels):
                continue
            looked_at.add(row.family_id)
            cells = cells_of(refs.family(client, row.family_id))
            if len(files_of(cells)) != 2:
                continue
            if sides := list(two_files(cells)):
                return sides
            raise BadInputError(
                f"the last comparison, of {' and '.join(files_of(cells))}, has no successful runs on both sides",
                remedy=f"see its runs: anubis history --family {client.runs.short_ids([row.id])[row.id]}",
            )
        page = client.runs.find(RunQuery(limit=PAGE, after=page[-1].id))
    raise BadInputError(
        "no comparison of two files is stored", remedy="name two runs: anubis compare BASELINE CONTENDER"
    )
