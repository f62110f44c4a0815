"""Series and their changes of level."""

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from anubis.api.alerts import alert_to_json
from anubis.late import late
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import Strict
from anubis.web.service import Asking

if TYPE_CHECKING:
    from anubis.api import series as api_series
else:  # numpy and scipy, which only some requests need
    api_series = late("anubis.api.series")

router = APIRouter(route_class=NounRoute, tags=["series"])

#: Most runs of a series in one answer.
MOST = 10_000


class AnalysisBody(Strict):
    """Which series are judged again."""

    benchmark: str | None = Field(None, description="By default all benchmarks.")
    notify: bool = Field(False, description="Deliver notices of changed alerts.")


@router.get("/series", summary="List series")
def find(
    client: Asking,
    benchmark: str | None = None,
    metric: str | None = None,
    newest: Annotated[int, Query(ge=1, le=MOST, description="Runs by which each series is judged.")] = MOST,
) -> Response:
    """Every series with its verdict and points."""
    found = client.series.find(benchmark=benchmark, metric=metric, newest=newest)
    return Answer({"series": list(map(api_series.series_to_json, found))})


@router.post("/series/analysis", summary="Judge series again")
def analyse(body: AnalysisBody, client: Asking) -> Response:
    """The alerts that changed."""
    changed = client.series.analyse(benchmark=body.benchmark, notify=body.notify)
    return Answer({"alerts": list(map(alert_to_json, changed))})
