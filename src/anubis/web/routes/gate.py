"""Comparisons and gates."""

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from anubis.api.verdicts import comparison_to_json
from anubis.late import late
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import Strict
from anubis.web.service import Asking

if TYPE_CHECKING:
    from anubis.api import gate as api_gate
    from anubis.judging import gate
else:  # numpy and scipy, which only some requests need
    api_gate = late("anubis.api.gate")
    gate = late("anubis.judging.gate")

router = APIRouter(route_class=NounRoute, tags=["gate"])

Refs = Annotated[list[str], Field(min_length=1, max_length=100_000)]
MinEffect = Annotated[float, Field(ge=0, le=1, description="Smallest effect that counts, a ratio.")]


class ComparisonBody(Strict):
    """Two sets of runs."""

    baseline: Refs
    contender: Refs
    min_effect: MinEffect = 0.02
    metrics: list[str] = Field([], description="By default all metrics.")


class ContestBody(Strict):
    """Runs to judge and the runs they are compared with."""

    contender: Refs
    baseline: Refs | None = Field(None, description="By default the current level of each series.")


class CheckBody(Strict):
    """Contests whose verdicts are adjusted together."""

    contests: list[ContestBody] = Field(min_length=1, max_length=10_000)
    min_effect: MinEffect | None = Field(None, description="By default that of the descriptor.")
    metrics: list[str] = Field([], description="By default all metrics.")


@router.post("/comparisons", summary="Compare two sets of runs")
def compare(body: ComparisonBody, client: Asking) -> Response:
    """A verdict for every (or every named) metric that both sets of runs have. Each run counts once."""
    comparison = client.gate.compare(
        body.baseline, body.contender, min_effect=body.min_effect, metrics=body.metrics
    )
    return Answer(comparison_to_json(comparison, baseline=body.baseline, contender=body.contender))


@router.post("/checks", summary="Judge runs")
def check(body: CheckBody, client: Asking) -> Response:
    """The report of a gate."""
    contests = [
        gate.GateSides(
            contender=[client.runs.get(ref) for ref in contest.contender],
            baseline=None if contest.baseline is None else [client.runs.get(ref) for ref in contest.baseline],
        )
        for contest in body.contests
    ]
    return Answer(
        api_gate.report_to_json(client.gate.judge(contests, min_effect=body.min_effect, metrics=body.metrics))
    )
