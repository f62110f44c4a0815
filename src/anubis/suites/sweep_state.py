"""What a sweep does next: a pure function of its rules and of the runs that are stored."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anubis.contracts.runs import RunRow
from anubis.contracts.sweeps import Sweep
from anubis.model.descriptor import SweepRules
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


def state_of(sweep: Sweep, values: Sequence[Mapping[str, Any]], runs: Mapping[int, RunRow]) -> SweepState:
    """The state of a sweep with these cells and the runs of their current tries."""
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
    return SweepState(sweep=sweep, runs=runs, due=due, cut=left_out, stop=_stop(rules, runs.values()))


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
