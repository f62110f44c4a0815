"""Comparisons and gates over runs of this installation."""

from collections.abc import Sequence
from dataclasses import replace

from anubis.client.embedded.references import find_run
from anubis.client.protocol import judging as protocol
from anubis.judging import controls, gate
from anubis.judging.comparison import compare_points
from anubis.model.errors import NotFoundError
from anubis.model.status import Status
from anubis.model.verdict import Comparison
from anubis.reporting import name_suggestions
from anubis.reporting.gate_report import Report
from anubis.wiring import Installation


class Gate(protocol.Gate):
    """``Gate`` (see the protocol) over the points of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._world = installation.world

    def compare(
        self,
        baseline: Sequence[str],
        contender: Sequence[str],
        *,
        min_effect: float = 0.02,
        metrics: Sequence[str] = (),
    ) -> Comparison:
        sides = [[find_run(self._world.runs, ref) for ref in side] for side in (baseline, contender)]
        old, new = (
            [
                point
                for point in self._world.points.of([run.id for run in side])
                if not metrics or point.metric in metrics
            ]
            for side in sides
        )
        return compare_points(old, new, min_effect=min_effect, runs=[*sides[0], *sides[1]])

    def check(
        self,
        contender: Sequence[str],
        baseline: Sequence[str] | None = None,
        *,
        min_effect: float | None = None,
        metrics: Sequence[str] = (),
    ) -> Report:
        new, old = ([find_run(self._world.runs, ref) for ref in refs] for refs in (contender, baseline or ()))
        contest = gate.GateSides(contender=new, baseline=None if baseline is None else old)
        return self.judge([contest], min_effect=min_effect, metrics=metrics)

    def judge(
        self,
        contests: Sequence[gate.GateSides],
        *,
        min_effect: float | None = None,
        metrics: Sequence[str] = (),
    ) -> Report:
        if metrics:
            self._require(contests, metrics)
        report = gate.compare_sides(contests, self._world, min_effect=min_effect, metrics=metrics)
        contender = [run for sides in contests for run in sides.contender]
        both = [*contender, *(run for sides in contests for run in sides.baseline or ())]
        controls.store_result(both, report, self._world)
        return replace(report, controls=controls.machine_rate(contender, self._world))

    def _require(self, contests: Sequence[gate.GateSides], metrics: Sequence[str]) -> None:
        """Raise NotFoundError for a metric without a value. Failed runs have no values and are reported as failures."""
        ids = [run.id for sides in contests for run in sides.contender if run.status is Status.SUCCEEDED]
        measured = sorted({point.metric for point in self._world.points.of(ids)})
        if measured and (missing := next((name for name in metrics if name not in measured), None)):
            raise NotFoundError(
                f"the runs have no value of metric {missing!r}",
                remedy=name_suggestions.remedy(missing, measured, otherwise="see anubis results RUN"),
            )
