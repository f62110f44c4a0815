"""Families: sweeps with their cells, one of them as a heat map, and what its user may do with it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Form, Response

from anubis.contracts.runs import RunRow
from anubis.contracts.sweeps import Sweep, SweepPhase
from anubis.late import late
from anubis.model.cause import Cause
from anubis.model.points import OWN_METRICS
from anubis.model.status import Status
from anubis.reporting.charts.data import HeatCell, HeatChart
from anubis.reporting.charts.heat import heat_svg
from anubis.reporting.markup import one_line
from anubis.web.pages import visit as visits
from anubis.web.pages.parts.charts import safe
from anubis.web.pages.visit import Visiting
from anubis.web.service import service_of

if TYPE_CHECKING:
    from anubis.api import sweeps as api_sweeps
else:  # numpy and scipy, which an idle service does not need
    api_sweeps = late("anubis.api.sweeps")

router = visits.router()

#: Sweeps of the list, cells of a table, and values of an axis of a heat map.
_SWEEPS, _CELLS, _WIDEST = 100, 500, 40


@router.get("/families")
def families(visit: Visiting) -> Response:
    """The newest sweeps."""
    found = visit.client.sweeps.find(limit=_SWEEPS)
    running = sum(sweep.phase is SweepPhase.RUNNING for sweep in found)
    title = f"{len(found)} sweep{'s' * (len(found) != 1)}: {running} running" if found else "No sweeps yet"
    return visit.page(
        "families.html",
        title=title,
        plain=lambda: {"sweeps": list(map(api_sweeps.sweep_details_to_json, found))},
        sweeps=found,
    )


@router.get("/families/{ref}")
def show(
    *, ref: str, visit: Visiting, metric: str = "", rows: str = "", columns: str = "", status: str = ""
) -> Response:
    """One sweep."""
    state = visit.client.sweeps.state(ref)
    sweep = state.sweep
    axes = [cell.values for cell in visit.client.sweeps.cells(sweep)]
    metrics = sorted(
        {name for run in state.runs.values() for name in run.values},
        key=lambda name: (name in OWN_METRICS, name),
    )
    chosen = metric if metric in metrics else metrics[0] if metrics else ""
    names = _wide(axes)
    down, across = _two(names, rows, columns)
    failed = Counter(run.cause or "unknown" for run in state.runs.values() if run.status is Status.FAILED)
    cells = [
        (position, values, state.runs.get(position))
        for position, values in enumerate(axes)
        if not status or (position in state.runs and state.runs[position].status.value == status)
    ]
    return visit.page(
        "family.html",
        title=_title(sweep, state.runs, failed),
        plain=lambda: api_sweeps.progress_to_json(state),
        sweep=sweep,
        state=state,
        cells=cells[:_CELLS],
        more=max(0, len(cells) - _CELLS),
        metrics=metrics,
        metric=chosen,
        axes=names,
        down=down,
        across=across,
        heat=_heat(sweep=sweep, axes=axes, runs=state.runs, metric=chosen, down=down, across=across),
        failed=[(cause, count, _remedy(cause)) for cause, count in failed.most_common()],
        only=status,
        best=_best(sweep, axes, state.runs, chosen),
    )


def _title(sweep: Sweep, runs: Mapping[int, RunRow], failed: Mapping[str, int]) -> str:
    counts = Counter(run.status for run in runs.values())
    active = sum(count for status, count in counts.items() if not status.final)
    words = [f"{counts[Status.SUCCEEDED]} ok"]
    words += [f"{count} failed ({cause.replace('_', ' ')})" for cause, count in failed.items()][:3]
    words += [f"{active} in progress"] * bool(active)
    return f"{one_line(sweep.descriptor.info.name, 80)}: {len(sweep.cells)} cells, {', '.join(words)}"


def _wide(axes: Sequence[Mapping[str, Any]]) -> list[str]:
    """The axes with several values, those with the most values first."""
    values: dict[str, set[str]] = {}
    for cell in axes:
        for name, value in cell.items():
            values.setdefault(name, set()).add(str(value))
    return sorted((name for name in values if len(values[name]) > 1), key=lambda name: -len(values[name]))


def _two(names: Sequence[str], rows: str, columns: str) -> tuple[str, str]:
    """The axes of the heat map, down and across; empty texts if there are fewer than two."""
    across = columns if columns in names else next((name for name in names if name != rows), "")
    down = rows if rows in names and rows != across else next((name for name in names if name != across), "")
    return (down, across) if down and across else ("", "")


def _better(sweep: Sweep, metric: str) -> str:
    server = sweep.descriptor.server
    declared = [*sweep.descriptor.output.metrics, *(server.output.metrics if server else ())]
    return next((each.better.value for each in declared if each.name == metric), "none")


def _heat(
    *,
    sweep: Sweep,
    axes: Sequence[Mapping[str, Any]],
    runs: Mapping[int, RunRow],
    metric: str,
    down: str,
    across: str,
) -> object:
    """The map of one metric; values over further axes are averaged, and a place with a failed cell says so."""
    if not (metric and down and across):
        return ""
    found: dict[tuple[str, str], list[float]] = {}
    failures: dict[tuple[str, str], str] = {}
    units = "none"
    for position, values in enumerate(axes):
        run, place = runs.get(position), (str(values.get(down)), str(values.get(across)))
        if run and run.status is Status.FAILED:
            failures[place] = (run.cause or "failed").replace("_", " ")
        if run and run.status is Status.SUCCEEDED and metric in run.values:
            value, units = run.values[metric]
            found.setdefault(place, []).append(value)
    rows, columns = (
        list(dict.fromkeys(str(cell.get(axis)) for cell in axes))[:_WIDEST] for axis in (down, across)
    )
    cells = [
        HeatCell(
            row=row,
            column=column,
            value=fmean(found[row, column]) if (row, column) in found else None,
            failure=failures.get((row, column), "") if (row, column) not in found else "",
        )
        for row in rows
        for column in columns
    ]
    chart = HeatChart(
        title=metric,
        description=f"{metric} by {down} and {across}",
        units=units,
        better=_better(sweep, metric),
        row_axis=down,
        column_axis=across,
        rows=tuple(rows),
        columns=tuple(columns),
        cells=tuple(cells),
    )
    return safe(heat_svg(chart))


def _best(
    sweep: Sweep, axes: Sequence[Mapping[str, Any]], runs: Mapping[int, RunRow], metric: str
) -> tuple[Mapping[str, Any], RunRow] | None:
    """The cell with the best value; None for a metric without direction."""
    better = _better(sweep, metric)
    known = [
        (run.values[metric][0], position)
        for position, run in runs.items()
        if run.status is Status.SUCCEEDED and metric in run.values
    ]
    if not known or better not in {"higher", "lower"}:
        return None
    _, position = max(known) if better == "higher" else min(known)
    return axes[position], runs[position]


def _remedy(cause: str) -> str:
    return Cause(cause).remedy if cause in list(Cause) else ""


@router.post("/families/{ref}/retry")
def retry(ref: str, visit: Visiting, cause: Annotated[list[str], Form(max_length=100)]) -> Response:
    """Repeat the cells that failed with these causes. Cells that were repeated have no cause, so a second form repeats none."""
    sweep = visit.client.sweeps.get(ref)
    runs = visit.client.sweeps.state(ref).runs.values()
    if {run.cause for run in runs if run.status is Status.FAILED} & set(cause):
        visit.client.sweeps.retry(sweep.id, cause)
        service_of(visit.request).wrote()
    return visit.to(f"/ui/families/{sweep.id}")


@router.post("/families/{ref}/phase")
def change(ref: str, visit: Visiting, to: Annotated[str, Form(pattern="pause|resume|cancel")]) -> Response:
    """Pause, resume or cancel a sweep."""
    sweeps = visit.client.sweeps
    sweep = sweeps.get(ref)
    if to == "resume":
        if sweep.phase is not SweepPhase.RUNNING:
            sweeps.resume(sweep.id)
    elif to == "pause":
        sweeps.pause(sweep.id)
    else:
        sweeps.cancel(sweep.id)
    service_of(visit.request).wrote()
    return visit.to(f"/ui/families/{sweep.id}")
