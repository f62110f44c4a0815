"""``anubis sweep``: many runs of one descriptor over the values of its matrix."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anubis.cli import exit_codes, terminal
from anubis.cli.errors import warned
from anubis.cli.home import open_client
from anubis.cli.params import json_option, mapping, overlay_option, overrides_option
from anubis.cli.views import json_output, tables, units
from anubis.late import late
from anubis.model.cause import Cause
from anubis.model.errors import BadInputError
from anubis.model.status import Status

if TYPE_CHECKING:
    from anubis.api import sweeps as api_sweeps
    from anubis.cli.sweeps import following, sweep_csv, sweep_view
    from anubis.client import Client
    from anubis.client.protocol.sweeps import SweepCell
    from anubis.contracts.sweeps import Sweep
    from anubis.suites import sweep_cells, sweep_table
    from anubis.suites.sweep_state import SweepState
else:  # --help needs neither pydantic nor scipy
    api_sweeps = late("anubis.api.sweeps")
    following = late("anubis.cli.sweeps.following")
    sweep_cells = late("anubis.suites.sweep_cells")
    sweep_csv = late("anubis.cli.sweeps.sweep_csv")
    sweep_table = late("anubis.suites.sweep_table")
    sweep_view = late("anubis.cli.sweeps.sweep_view")

#: Rows of a plan on a terminal.
MOST_ROWS = 50
#: The answer to the cancellation of a sweep that is not cancelled by it.
_CANCEL_TEXT = {"ended": "has already ended"}
_REF = click.argument("ref", metavar="[SWEEP]", default="@last")


@click.group()
def sweep() -> None:
    """Run all cells of a matrix, and compare them.

    SWEEP is the id of a sweep, a prefix of it, or one of its runs (default: the last sweep).
    """


def _planned(function: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in reversed(
        (
            click.argument("file", type=click.Path(path_type=Path), metavar="FILE"),
            overrides_option("Override a field of the descriptor, for example measure.repeats=10"),
            overlay_option,
            click.option(
                "--script",
                type=click.Path(path_type=Path),
                metavar="DIR|FILE",
                help="Code of the benchmark; BAI_SCRIPTS_PATH contains its folder at run time.",
            ),
            click.option(
                "--max-parallel",
                type=click.IntRange(1, 100_000),
                metavar="N",
                help="Cells in progress at the same time (default: sweep.max_parallel, else the engine decides).",
            ),
        )
    ):
        function = decorate(function)
    return function


@sweep.command()
@_planned
@json_option
def plan(
    *,
    file: Path,
    overrides: tuple[tuple[str, str], ...],
    overlays: tuple[Path, ...],
    script: Path | None,
    max_parallel: int | None,
    as_json: bool,
) -> None:
    """Show the cells of FILE, and where each would run; nothing is stored."""
    with open_client() as client:
        planned = client.sweeps.plan(
            file,
            overrides=mapping(overrides),
            script=script,
            stores_script=False,
            max_parallel=max_parallel,
            warned=warned,
            overlays=overlays,
        )
        cells = client.sweeps.cells(planned)
    matrix = planned.descriptor.matrix
    assert matrix is not None
    product = 1
    for values in matrix.axes.values():
        product *= len(values)
    included = len(matrix.include)
    excluded = product + included - len(cells)
    if as_json:
        json_output.show(
            {
                "name": planned.descriptor.info.name,
                "cells": [
                    {
                        "cell": dict(cell.values),
                        "digest": cell.digest,
                        "engine": cell.engine,
                        "instance_type": cell.instance_type,
                        "executions": cell.executions,
                    }
                    for cell in cells
                ],
                "excluded": excluded,
                "included": included,
            }
        )
        return
    _show_plan(list(matrix.axes), cells)
    terminal.line(f"{units.counted(len(cells), 'cell')}, {excluded} excluded, {included} included")


def _show_plan(axes: Sequence[str], cells: "Sequence[SweepCell]") -> None:
    columns = [tables.Column(title=tables.last_part(axis)) for axis in axes]
    columns += [tables.Column(title=title) for title in ("ENGINE", "MACHINE")]
    columns.append(tables.Column(title="EXECUTIONS", right=True))
    shown = cells if terminal.width() is None else cells[:MOST_ROWS]
    tables.show(
        columns,
        [
            [
                *(str(cell.values.get(axis, "")) for axis in axes),
                cell.engine,
                cell.instance_type,
                str(cell.executions),
            ]
            for cell in shown
        ],
    )
    if len(shown) < len(cells):
        terminal.line(f"and {len(cells) - len(shown)} more: see --json")


@sweep.command()
@_planned
@json_option
def run(
    *,
    file: Path,
    overrides: tuple[tuple[str, str], ...],
    overlays: tuple[Path, ...],
    script: Path | None,
    max_parallel: int | None,
    as_json: bool,
) -> int:
    """Run the cells of FILE in the foreground, as one family.

    Ctrl-C pauses the sweep: cells that run continue in the background, no further cell starts. Continue
    it with "anubis sweep resume", also after a crash; no cell is measured twice.

    Exits 1 if a cell failed or the sweep stopped, 5 if one was cancelled, else 0.
    """
    with open_client() as client:
        planned = client.sweeps.plan(
            file,
            overrides=mapping(overrides),
            script=script,
            max_parallel=max_parallel,
            warned=warned,
            overlays=overlays,
        )
        started = client.sweeps.start(planned)
        terminal.progress(f"sweep {started.id}: {units.counted(len(started.cells), 'cell')}")
        return _follow(client, started, as_json=as_json)


@sweep.command()
@_REF
@click.option("--metric", metavar="METRIC", help="Metric of the heat map (default: the first of the table).")
@click.option("--rows", metavar="AXIS", help="Axis of the rows of the heat map.")
@click.option("--columns", metavar="AXIS", help="Axis of the columns of the heat map.")
@click.option("--all", "everything", is_flag=True, help="List the newest sweeps instead.")
@json_option
def status(
    *, ref: str, metric: str | None, rows: str | None, columns: str | None, everything: bool, as_json: bool
) -> None:
    """Show the table and the heat map of a sweep, its cuts and its failures.

    Runs that differ only in their seed are one row, with the mean and its 95 % interval. For a row of a single run, the
    interval is that over its repeats.
    """
    with open_client() as client:
        if everything:
            _list(client, as_json=as_json)
            return
        _show(client, client.sweeps.state(ref), as_json=as_json, metric=metric, axes=(rows, columns))


@sweep.command()
@_REF
@json_option
def resume(*, ref: str, as_json: bool) -> int:
    """Run the missing cells of a sweep in the foreground: not started, or cancelled.

    After a stop by the rule about failures, the failed cells are repeated too.
    """
    with open_client() as client:
        return _follow(client, client.sweeps.resume(ref), as_json=as_json)


@sweep.command()
@_REF
@click.option(
    "--cause",
    "causes",
    type=click.Choice([cause.value for cause in Cause]),
    multiple=True,
    metavar="CAUSE",
    help="Repeat cells that failed with this cause (default: every transient cause); repeatable.",
)
@click.option("--all", "everything", is_flag=True, help="Repeat all cells that failed.")
@json_option
def retry(*, ref: str, causes: tuple[str, ...], everything: bool, as_json: bool) -> int:
    """Repeat the failed cells of a sweep in the foreground.

    By default those whose cause is transient: a lost machine, a full disk, data that could not be fetched. Cells that
    failed through their own fault fail again until the benchmark is corrected.
    """
    if causes and everything:
        raise BadInputError("--cause and --all cannot be combined", remedy="use one of them")
    chosen = set(causes) or {cause.value for cause in Cause if everything or cause.transient}
    with open_client() as client:
        changed, count = client.sweeps.retry(ref, chosen)
        terminal.progress(f"sweep {changed.id}: {units.counted(count, 'cell')} repeated")
        return _follow(client, changed, as_json=as_json)


@sweep.command()
@_REF
@json_option
def cancel(*, ref: str, as_json: bool) -> None:
    """Cancel all cells of a sweep that are not final."""
    with open_client() as client:
        cancelled = client.sweeps.cancel(ref, why="cancelled by its user")
        if as_json:
            json_output.show(api_sweeps.sweep_to_json(cancelled))
        else:
            terminal.line(f"sweep {cancelled.id} {_CANCEL_TEXT.get(cancelled.phase.value, 'is cancelled')}")


@sweep.command()
@_REF
@click.option(
    "--format",
    "form",
    type=click.Choice(["long", "wide"]),
    default="long",
    show_default=True,
    help="CSV with a row for each run and metric, or for each combination, with means and intervals.",
)
@json_option
def export(*, ref: str, form: str, as_json: bool) -> None:
    """Print the results of a sweep as CSV."""
    with open_client() as client:
        state = client.sweeps.state(ref)
        results = _results(client, state)
    combinations = sweep_table.combinations_of(results)
    if as_json:
        json_output.show(api_sweeps.state_to_json(state, results, combinations))
        return
    text = sweep_csv.long_csv(results) if form == "long" else sweep_csv.wide_csv(combinations)
    terminal.line(text, nl=False)


def _follow(client: "Client", started: "Sweep", *, as_json: bool) -> int:
    state = following.follow(client, started.id)
    _show(client, state, as_json=as_json)
    if state.sweep.phase.value == "stopped" or state.count(Status.FAILED):
        return exit_codes.FAILED
    cancelled = state.sweep.phase.value in {"cancelled", "paused"} or state.count(Status.CANCELLED)
    return exit_codes.CANCELLED if cancelled else exit_codes.OK


def _results(client: "Client", state: "SweepState") -> "list[sweep_table.CellResult]":
    points = client.results.points([run.id for run in state.runs.values()])
    return sweep_table.results_of(state, sweep_cells.SweepCells(state.sweep).values, points)


def _show(
    client: "Client",
    state: "SweepState",
    *,
    as_json: bool,
    metric: str | None = None,
    axes: tuple[str | None, str | None] = (None, None),
) -> None:
    results = _results(client, state)
    combinations = sweep_table.combinations_of(results)
    if as_json:
        json_output.show(api_sweeps.state_to_json(state, results, combinations))
        return
    measured = {name for each in combinations for name in each.metrics}
    if metric is not None and metric not in measured:
        known = ", ".join(sorted(measured)) or "none"
        raise BadInputError(f"the sweep has no values of {metric!r}", remedy=f"it has: {known}")
    try:
        sweep_view.show(state, results, combinations, metric=metric, axes=axes)
    except KeyError as error:
        known = ", ".join(dict.fromkeys(axis for each in combinations for axis in each.values))
        raise BadInputError(f"the sweep has no axis {error}", remedy=f"it has: {known}") from error


def _list(client: "Client", *, as_json: bool) -> None:
    found = client.sweeps.find()
    if as_json:
        json_output.show_list(map(api_sweeps.sweep_to_json, found))
    elif not found:
        terminal.line("no sweeps")
    else:
        columns = [tables.Column(title=title) for title in ("SWEEP", "NAME", "SUBMITTED")]
        columns += [tables.Column(title="CELLS", right=True), tables.Column(title="PHASE")]
        tables.show(
            columns,
            [
                [
                    each.id,
                    each.descriptor.info.name,
                    units.moment(each.created_s),
                    str(len(each.cells)),
                    each.phase.value,
                ]
                for each in found
            ],
        )
