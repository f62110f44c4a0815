"""What a sweep does next: a pure function of its rules and of the runs that are stored."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anubis.contracts.runs import RunRow
from anubis.contracts.sweeps import Sweep
from anubis.model.descriptor import SweepRules
from anubis.model.hardware import Cost, parsed, total
from anubis.model.metric import Better
from anubis.model.status import Status
from anubis.suites.halving import Cut, Measured, halve


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepState:
    """The cells of a sweep by what is known about them; positions as in ``Sweep.cells``."""

    sweep: Sweep
    #: Position -> the run of its current try.
    runs: Mapping[int, RunRow]
    #: Cells that may be submitted now, in order.
    due: Sequence[int]
    #: Cells that a rule leaves out.
    cut: Mapping[int, Cut] = field(default_factory=dict)
    #: Why the sweep must stop; empty: it need not.
    stop: str = ""
    #: Its budget is spent: cells in progress end too.
    spent: bool = False
    #: Cost of all runs that have ended, of earlier tries too; None: no cost is known.
    cost: Cost | None = None
    #: Number of runs that used a machine at an unknown cost.
    unknown_costs: int = 0

    @property
    def unfinished(self) -> int:
        """Number of runs that are not final."""
        return sum(not run.status.final for run in self.runs.values())

    @property
    def over(self) -> bool:
        """Whether nothing is left to do."""
        return not self.due and not self.unfinished

    def count(self, status: Status) -> int:
        """Number of cells whose run has this status."""
        return sum(run.status is status for run in self.runs.values())


def state_of(
    sweep: Sweep,
    values: Sequence[Mapping[str, Any]],
    runs: Mapping[int, RunRow],
    *,
    earlier: Sequence[RunRow] = (),
    now_s: float | None = None,
) -> SweepState:
    """The state of a sweep with these cells and the runs of their current tries.

    ``earlier`` are the runs of earlier tries. ``now_s`` (UTC seconds) is the end of the time that running cells have taken; None:
    only cells that have ended count.
    """
    rules = sweep.descriptor.sweep or SweepRules()
    allowed: Sequence[int] = range(len(values))
    cut: Mapping[int, Cut] = {}
    if rules.halving is not None:
        metric = rules.halving.metric
        measured = {
            position: Measured(final=run.status.final, value=_value(run, metric))
            for position, run in runs.items()
        }
        rungs = halve(values, measured, rules.halving, _better(sweep, metric))
        allowed, cut = sorted(rungs.allowed), rungs.cut
    due = [position for position in allowed if position not in runs]
    left_out = {position: reason for position, reason in cut.items() if position not in runs}
    every = [*runs.values(), *earlier]
    cost, unknown = total(run.cost for run in every)
    spent = _spent(rules, every, cost, unknown, now_s)
    return SweepState(
        sweep=sweep,
        runs=runs,
        due=due,
        cut=left_out,
        stop=spent or _stop(rules, runs.values()),
        spent=bool(spent),
        cost=cost,
        unknown_costs=unknown,
    )


def _spent(
    rules: SweepRules, runs: Sequence[RunRow], cost: Cost | None, unknown: int, now_s: float | None
) -> str:
    """Why the budget is spent; empty: it is not."""
    if rules.max_cost is not None:
        limit = parsed(rules.max_cost)
        if unknown or (cost and cost.currency != limit.currency):
            return f"the cost of a cell is unknown, so sweep.max_cost = {rules.max_cost} cannot be kept"
        if cost and cost.amount is not None and limit.amount is not None and cost.amount >= limit.amount:
            return f"the cells have cost {cost.amount:.4g} of {limit.amount:g} {limit.currency}"
    if rules.max_run_s is not None:
        ends = [(run.placed_s, run.ended_s or now_s) for run in runs]
        took_s = sum(max(0.0, end_s - start_s) for start_s, end_s in ends if start_s and end_s)
        if took_s >= rules.max_run_s:
            return f"the cells have run for {took_s:.4g} s of {rules.max_run_s:g} s"
    return ""


def _value(run: RunRow, metric: str) -> float | None:
    """The value of a run that succeeded."""
    if run.status is not Status.SUCCEEDED or metric not in run.values:
        return None
    return run.values[metric][0]


def _better(sweep: Sweep, metric: str) -> Better:
    server = sweep.descriptor.server
    declared = [*sweep.descriptor.output.metrics, *(server.output.metrics if server else ())]
    return next((each.better for each in declared if each.name == metric), Better.NONE)


def _stop(rules: SweepRules, runs: Iterable[RunRow]) -> str:
    """Why the sweep stops: as many cells as the rule says ended first, all with the same cause of failure."""
    ended = sorted(
        (run for run in runs if run.status in {Status.SUCCEEDED, Status.FAILED}),
        key=lambda run: (run.ended_s or 0.0, run.id),
    )
    first = ended[: rules.stop_after]
    causes = {run.cause for run in first if run.status is Status.FAILED}
    if not first or len(first) < rules.stop_after or len(causes) != 1:
        return ""
    if any(run.status is not Status.FAILED for run in ended):
        return ""
    reason = f": {first[0].reason}" if first[0].reason else ""
    cells = f"{len(first)} cells" if len(first) > 1 else "cell"
    return f"the first {cells} failed with cause {first[0].cause}{reason}"
