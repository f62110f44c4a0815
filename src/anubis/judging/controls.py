"""A/A controls: the same code on both sides. Every change that they show is false; their results are counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from anubis.analysis.samples.false_rate import false_rate
from anubis.contracts.runs import RunQuery
from anubis.contracts.world import World
from anubis.model.labels import CONTROL, IS_CONTROL, is_control
from anubis.model.run import Event, Run
from anubis.model.verdict import FalseRate
from anubis.reporting.gate_report import Report

#: Kind of the event with the result of a control, at its last run.
RESULT_EVENT = "control"
#: Runs of controls among which results are searched, the newest.
MOST_RUNS = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """The result of one control."""

    machine: str
    is_false: bool


def store_result(runs: Sequence[Run], report: Report, world: World) -> None:
    """Store the result of a control if all of these runs belong to one, and all metrics could be judged.

    A control of too few runs for a test cannot be false, so it is not counted. A control that is judged again replaces
    its earlier result.
    """
    is_whole = runs and all(is_control(run.descriptor.info.labels) for run in runs)
    if not is_whole or len({run.family_id for run in runs}) != 1 or not _is_judged(report):
        return
    machines = _machines(runs, world)
    if len(machines) != 1:
        return
    data = {"machine": machines.pop(), "false": report.has_changes}
    last = max(run.id for run in runs)
    world.events.append(
        [Event(run_id=last, kind=RESULT_EVENT, time_s=world.clock.now_s(), message=_text(report), data=data)]
    )


def machine_rate(runs: Sequence[Run], world: World) -> FalseRate | None:
    """The rate of false controls on the machines of these runs; None if no control was judged there."""
    rows = world.runs.find(RunQuery(labels={CONTROL: IS_CONTROL}, limit=MOST_RUNS))
    if not rows:
        return None
    machines = _machines(runs, world)
    last: dict[str, str] = {}
    for row in rows:
        if row.family_id is not None:
            last[row.family_id] = max(row.id, last.get(row.family_id, ""))
    results = [result for run_id in last.values() if (result := _result(run_id, world))]
    here = [result.is_false for result in results if result.machine in machines]
    return false_rate(sum(here), len(here)) if here else None


def _machines(runs: Sequence[Run], world: World) -> set[str]:
    """The fingerprints of the machines that measured these runs."""
    return {point.fingerprint for point in world.points.of([run.id for run in runs])}


def _result(run_id: str, world: World) -> _Result | None:
    """The newest result of a control, by its last run; None if it was not judged."""
    found = [event for event in world.events.read(run_id) if event.kind == RESULT_EVENT]
    return _Result(machine=found[-1].data["machine"], is_false=found[-1].data["false"]) if found else None


def _is_judged(report: Report) -> bool:
    """Whether no benchmark failed, and every metric was tested."""
    return all(
        not entry.failure
        and entry.comparison is not None
        and all(verdict.p is not None for verdict in entry.comparison.verdicts)
        for entry in report.comparisons
    )


def _text(report: Report) -> str:
    return f"A/A control: {'a false change' if report.has_changes else 'no false change'}"
