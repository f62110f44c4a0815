"""What is printed about a sweep: its progress, a table of its combinations, cuts and failures."""

from collections.abc import Iterator, Sequence

from anubis.analysis import quantities
from anubis.cli import terminal
from anubis.cli.sweeps.heat_map import heat_map
from anubis.cli.views import tables, units
from anubis.cli.views.status_text import cost_text
from anubis.contracts.sweeps import Sweep, SweepPhase
from anubis.model.cause import Cause
from anubis.model.points import OWN_METRICS
from anubis.model.status import Status
from anubis.suites.halving import Cut
from anubis.suites.sweep_state import SweepState
from anubis.suites.sweep_table import CellResult, Combination, Estimate

#: More columns of metrics than this do not fit; ``sweep export`` has all.
MOST_METRICS = 4
#: Colours of the phases.
_COLOURS = {SweepPhase.ENDED: "green", SweepPhase.STOPPED: "red", SweepPhase.RUNNING: "cyan"}


def progress_line(state: SweepState) -> str:
    """How far a sweep is: ``412 of 1000 cells ended, 3 failed, 24 in progress, 10 cut``."""
    ended = len(state.runs) - state.unfinished
    parts = [f"{ended} of {len(state.sweep.cells)} cells ended"]
    failed, cancelled = state.count(Status.FAILED), state.count(Status.CANCELLED)
    for count, word in (
        (failed, "failed"),
        (cancelled, "cancelled"),
        (state.unfinished, "in progress"),
        (len(state.cut), "cut"),
    ):
        parts += [f"{count} {word}"] if count else []
    return ", ".join(parts)


def show(
    state: SweepState,
    results: Sequence[CellResult],
    combinations: Sequence[Combination],
    *,
    metric: str | None,
    axes: tuple[str | None, str | None],
) -> None:
    """Print the whole view of a sweep. ``axes`` are those of the heat map: rows and columns; None: chosen here."""
    sweep = state.sweep
    phase = terminal.style(sweep.phase.value, fg=_COLOURS.get(sweep.phase, "yellow"))
    rows = [
        ("sweep", sweep.id),
        ("name", sweep.descriptor.info.name),
        ("phase", phase),
        ("reason", sweep.reason),
        ("cells", progress_line(state)),
        ("cost", cost_text(state.cost, unknown=state.unknown_costs)),
    ]
    for name, value in rows:
        if value:
            terminal.line(f"{terminal.style(name.ljust(6), dim=True)}  {value}")
    terminal.line()
    names = shown_metrics(sweep, combinations)
    _show_table(combinations, names)
    ranked = metric or (names[0] if names else None)
    if ranked and (lines := list(heat_map(combinations, ranked, rows=axes[0], columns=axes[1]))):
        terminal.line()
        for line in lines:
            terminal.line(line)
    for lines_of in (_cuts(combinations), _failures(results)):
        lines = list(lines_of)
        if lines:
            terminal.line()
        for line in lines:
            terminal.line(line)
    if help_text := next_step(state):
        terminal.line(f"help: {help_text}")


def next_step(state: SweepState) -> str:
    """The command that continues a sweep; empty if nothing is left to do."""
    sweep = state.sweep
    if sweep.phase is SweepPhase.PAUSED or sweep.phase is SweepPhase.CANCELLED:
        return f"continue with anubis sweep resume {sweep.id}"
    if sweep.cause is not None:
        return sweep.cause.remedy
    if sweep.phase is SweepPhase.STOPPED:
        return f"correct the cause, then continue with anubis sweep resume {sweep.id}"
    causes = {run.cause for run in state.runs.values() if run.status is Status.FAILED and run.cause}
    if sweep.phase is SweepPhase.ENDED and any(Cause(cause).transient for cause in causes):
        return f"repeat cells that failed by a transient cause with anubis sweep retry {sweep.id}"
    return ""


def shown_metrics(sweep: Sweep, combinations: Sequence[Combination]) -> list[str]:
    """The metrics of the table: that of the rule first, then the declared ones, then others; at most a few."""
    rules, server = sweep.descriptor.sweep, sweep.descriptor.server
    first = [rules.halving.metric] if rules and rules.halving else []
    declared = [*sweep.descriptor.output.metrics, *(server.output.metrics if server else ())]
    measured = dict.fromkeys(name for each in combinations for name in each.metrics)
    others = [name for name in measured if name not in OWN_METRICS]
    names = [name for name in [*first, *(each.name for each in declared), *others] if name in measured]
    return list(dict.fromkeys(names))[:MOST_METRICS] or list(measured)[:1]


def _show_table(combinations: Sequence[Combination], names: Sequence[str]) -> None:
    axes = list(dict.fromkeys(axis for each in combinations for axis in each.values))
    columns = [
        *(tables.Column(title=tables.last_part(axis)) for axis in axes),
        tables.Column(title="RUNS", right=True),
        tables.Column(title="STATUS"),
    ]
    scales = {}
    for name in names:
        found = [each.metrics[name] for each in combinations if name in each.metrics]
        scales[name] = quantities.common_scale([one.mean for one in found], found[0].units)
        unit = scales[name][1]
        columns.append(tables.Column(title=f"{name} [{unit}]" if unit else name, right=True))
        columns.append(tables.Column(title="95 % INTERVAL", right=True))
        columns.append(tables.Column(title="N", right=True))
    rows = []
    for each in combinations:
        row: list[tables.Cell] = [str(each.values.get(axis, "")) for axis in axes]
        row += [str(sum(cell.run is not None for cell in each.cells)), _status(each)]
        for name in names:
            row += _estimate(each.metrics.get(name), scales[name][0])
        rows.append(row)
    tables.show(columns, rows)


def _status(each: Combination) -> tables.Cell:
    failed = each.count(Status.FAILED)
    if failed:
        return tables.Styled(f"{failed} of {len(each.cells)} failed", "red")
    if each.cut:
        return tables.Styled("cut", "yellow")
    succeeded = each.count(Status.SUCCEEDED)
    if succeeded == len(each.cells):
        return tables.Styled("succeeded", "green")
    return tables.Styled(f"{succeeded} of {len(each.cells)} succeeded", "cyan")


def _estimate(found: Estimate | None, scale: float) -> list[tables.Cell]:
    if found is None:
        return ["", "", ""]
    number = quantities.number
    interval = ""
    if found.interval:
        interval = f"{number(found.interval[0] * scale)} .. {number(found.interval[1] * scale)}"
    return [number(found.mean * scale), interval, str(found.count)]


def _cuts(combinations: Sequence[Combination]) -> Iterator[str]:
    for each in combinations:
        if each.cut:
            name = ", ".join(f"{axis}={value}" for axis, value in each.values.items())
            yield f"cut  {name}: {cut_text(each.cut)}"


def cut_text(cut: Cut) -> str:
    """Why a combination is not measured further."""
    if cut.rank is None or cut.score is None or cut.limit is None:
        return f"no value after rung {cut.rung} ({cut.at}), so it cannot be ranked"
    return (
        f"rank {cut.rank} of {cut.ranked} after rung {cut.rung} ({cut.at}), of which {cut.kept} remain: "
        f"{quantities.number(cut.score)}, the last that remains has {quantities.number(cut.limit)}"
    )


def _failures(results: Sequence[CellResult]) -> Iterator[str]:
    failed: dict[Cause, list[str]] = {}
    for cell in results:
        if cell.run and cell.run.status is Status.FAILED and cell.run.cause:
            failed.setdefault(Cause(cell.run.cause), []).append(cell.run.id)
    for cause, ids in sorted(failed.items(), key=lambda item: -len(item[1])):
        kind = "transient" if cause.transient else "own"
        yield f"{units.counted(len(ids), 'cell')} failed with {kind} cause {cause.value}, for example {ids[0]}"
        yield f"  help: {cause.remedy}"
