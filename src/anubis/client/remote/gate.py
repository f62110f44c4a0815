"""Comparisons and gates over runs of a service."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from anubis.api.gate import report_from_json
from anubis.api.verdicts import comparison_from_json
from anubis.client.protocol import judging as protocol
from anubis.client.remote.connection import ServiceConnection
from anubis.model.verdict import Comparison
from anubis.reporting.gate_report import Report

if TYPE_CHECKING:
    from anubis.judging.gate import GateSides


class Gate(protocol.Gate):
    """``Gate`` (see the protocol) over HTTP."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def compare(
        self,
        baseline: Sequence[str],
        contender: Sequence[str],
        *,
        min_effect: float = 0.02,
        metrics: Sequence[str] = (),
    ) -> Comparison:
        body = {
            "baseline": list(baseline),
            "contender": list(contender),
            "min_effect": min_effect,
            "metrics": list(metrics),
        }
        return comparison_from_json(self._connection.post("comparisons", body))

    def check(
        self,
        contender: Sequence[str],
        baseline: Sequence[str] | None = None,
        *,
        min_effect: float | None = None,
        metrics: Sequence[str] = (),
    ) -> Report:
        contest = {"contender": list(contender), "baseline": None if baseline is None else list(baseline)}
        return self._checked([contest], min_effect, metrics)

    def judge(
        self,
        contests: "Sequence[GateSides]",
        *,
        min_effect: float | None = None,
        metrics: Sequence[str] = (),
    ) -> Report:
        named = [
            {
                "contender": [run.id for run in sides.contender],
                "baseline": None if sides.baseline is None else [run.id for run in sides.baseline],
            }
            for sides in contests
        ]
        return self._checked(named, min_effect, metrics)

    def _checked(
        self, contests: Sequence[dict[str, Any]], min_effect: float | None, metrics: Sequence[str]
    ) -> Report:
        body = {"contests": list(contests), "min_effect": min_effect, "metrics": list(metrics)}
        return report_from_json(self._connection.post("checks", body))
