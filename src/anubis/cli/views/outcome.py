"""The outcome of runs: values, a table of the cells of a family, and verdicts if two files were compared."""

from collections.abc import Mapping, Sequence
from statistics import median, stdev
from typing import TYPE_CHECKING

from anubis.analysis import quantities
from anubis.api.runs import run_to_json
from anubis.cli import terminal
from anubis.cli.families import Cell, Key, cells_of, key_text, two_files
from anubis.cli.views import comparison_view, json_output, remarks, status_text, tables, units, values_view
from anubis.model.points import OWN_METRICS, Point
from anubis.model.run import Event, Run
from anubis.model.status import Status
from anubis.record import layout, tailing

if TYPE_CHECKING:
    from anubis.client import Client

#: With more metrics, the table has a line for each cell and metric.
WIDEST = 3
TAIL_LINES = 5


def show_outcome(client: "Client", runs: Sequence[Run], *, as_json: bool) -> None:
    """Print the values of final runs on standard output."""
    points = client.results.points([run.id for run in runs])
    events = {run.id: client.runs.events(run.id) for run in runs}
    cells = cells_of(runs) if len(runs) > 1 else []
    comparisons = _judged(client, cells)
    if as_json:
        json_output.show(
            {
                "runs": [
                    run_to_json(run, [point for point in points if point.run_id == run.id]) for run in runs
                ],
                "remarks": remarks.as_json(event for run in runs for event in events[run.id]),
                "comparisons": [
                    {"cell": dict(key), **comparison_view.as_json(one)} for key, one in comparisons
                ],
            }
        )
        return
    if len(runs) == 1:
        _show_one(client, runs[0], points)
        for line in remarks.lines(events[runs[0].id]):
            terminal.line(line)
    else:
        short = client.runs.short_ids([run.id for run in runs])
        _show_cells(cells, points, short)
        _show_remarks(runs, short, events)
        for run in [run for run in runs if run.status is not Status.SUCCEEDED][:WIDEST]:
            terminal.line()
            _show_end(client, run)
    for key, one in comparisons:
        terminal.line()
        comparison_view.show(one, about=key_text(key), plot=terminal.width() is not None)


def _show_remarks(
    runs: Sequence[Run], short: Mapping[str, str], events: Mapping[str, Sequence[Event]]
) -> None:
    """The remarks about each run, under its id; those of the first runs that have some."""
    remarked = [(run, lines) for run in runs if (lines := list(remarks.lines(events[run.id])))]
    for run, lines in remarked[:WIDEST]:
        terminal.line(f"\n{short[run.id]}")
        for line in lines:
            terminal.line(line)
    if len(remarked) > WIDEST:
        terminal.line(
            f"\nand {units.counted(len(remarked) - WIDEST, 'more run')} with remarks: see anubis show RUN"
        )


def _judged(client: "Client", cells: Sequence[Cell[Run]]) -> list[tuple[Key, comparison_view.Judged]]:
    return [(key, comparison_view.judged(client, old, new)) for key, old, new in two_files(cells)]


def _show_one(client: "Client", run: Run, points: Sequence[Point]) -> None:
    if points:
        values_view.show(points, client.results.summaries(run.id))
        terminal.line()
    _show_end(client, run)


def _show_end(client: "Client", run: Run) -> None:
    """How a run ended, in a line; for one that did not succeed also the reason, the remedy and its last output."""
    cell, width = status_text.status_cell(run.status), terminal.width()
    took = status_text.took(run.placed_s, run.ended_s)
    end = terminal.style(cell.text, fg=cell.colour)
    terminal.line(f"{run.descriptor.info.name}  {run.id}  {end}{f' in {took}' if took else ''}")
    if run.status is Status.SUCCEEDED:
        return
    for line in tables.folded(run.reason, width and width - 2) if run.reason else ():
        terminal.line(f"  {line}")
    for line in _last_output(client, run):
        terminal.line(terminal.style(f"  > {line}", dim=True))
    if run.cause and run.cause.remedy not in run.reason:
        terminal.line(f"  help: {run.cause.remedy}")


def _last_output(client: "Client", run: Run) -> list[str]:
    files = client.records.files(run)
    words = tailing.last_lines(files, layout.STDERR, TAIL_LINES)
    return words or tailing.last_lines(files, layout.STDOUT, TAIL_LINES)


def _show_cells(cells: Sequence[Cell[Run]], points: Sequence[Point], short: Mapping[str, str]) -> None:
    """One line for each cell, or for each cell and metric if there are too many metrics for one line."""
    metrics = _metrics(cells, points)
    names = list(dict.fromkeys(name for cell in cells for name, _ in cell.key))
    alone = all(len(cell.runs) == 1 for cell in cells)
    about = [tables.Column(title="RUN") if alone else tables.Column(title="RUNS", right=True)]
    about += [tables.Column(title=name.rpartition(".")[2].upper()) for name in names]
    about.append(tables.Column(title="STATUS"))
    if len(metrics) <= WIDEST:
        columns = [tables.Column(title=_heading(*metric), right=True) for metric in metrics.items()]
        rows = [
            [
                *_about(cell, names, short if alone else None),
                *(_value(cell, points, name, scale) for name, (scale, _) in metrics.items()),
            ]
            for cell in cells
        ]
    else:
        columns = [tables.Column(title=title) for title in ("METRIC", "UNIT")]
        columns.insert(1, tables.Column(title="VALUE", right=True))
        rows = [
            [*_about(cell, names, short if alone else None), name, _value(cell, points, name, scale), unit]
            for cell in cells
            for name, (scale, unit) in metrics.items()
        ]
    tables.show([*about, *columns], rows)


def _metrics(cells: Sequence[Cell[Run]], points: Sequence[Point]) -> Mapping[str, tuple[float, str]]:
    """Metric -> scale and unit of its column: those of the largest value in it, as in the verdict.

    The agent's own metrics are included only if there are no others.
    """
    units_of = {point.metric: point.units for point in points}
    shown = [metric for metric in units_of if metric not in OWN_METRICS] or list(units_of)
    return {
        metric: quantities.common_scale(
            [
                median(one.value for one in mine)
                for cell in cells
                if (mine := _points_of(cell, points, metric))
            ],
            units_of[metric],
        )
        for metric in shown
    }


def _points_of(cell: Cell[Run], points: Sequence[Point], metric: str) -> list[Point]:
    ids = {run.id for run in cell.runs}
    return [point for point in points if point.metric == metric and point.run_id in ids]


def _heading(metric: str, scaled: tuple[float, str]) -> str:
    return f"{metric} [{scaled[1]}]" if scaled[1] else metric


def _about(cell: Cell[Run], names: Sequence[str], short: Mapping[str, str] | None) -> list[tables.Cell]:
    """The cells of a row before its values; ``short``: the short ids if each cell has one run."""
    values = dict(cell.key)
    statuses = [run.status for run in cell.runs]
    bad = len(statuses) - statuses.count(Status.SUCCEEDED)
    same = len(set(statuses)) == 1
    status = status_text.status_cell(statuses[0]) if same else tables.Styled(f"{bad} not succeeded", "red")
    runs = str(len(cell.runs)) if short is None else short[cell.runs[0].id]
    return [runs, *(str(values.get(name, "")) for name in names), status]


def _value(cell: Cell[Run], points: Sequence[Point], metric: str, scale: float) -> str:
    """Median over the runs, with the relative spread between them (or between the repeats of a single one)."""
    mine = _points_of(cell, points, metric)
    if not mine:
        return ""
    middle = median(point.value for point in mine)
    spread = stdev(point.value for point in mine) if len(mine) > 1 else mine[0].spread
    text = quantities.number(middle * scale)
    return text if spread is None or not middle else f"{text} ±{units.share(abs(spread / middle))}"
