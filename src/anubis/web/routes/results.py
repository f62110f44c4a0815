"""The values of runs, and their samples."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from anubis.api.points import columns_to_json, point_to_json, summary_to_json
from anubis.web.answers import Answer, NounRoute
from anubis.web.service import Asking

router = APIRouter(route_class=NounRoute, tags=["results"])


@router.get("/points", summary="Values of runs")
def points(
    client: Asking, run: Annotated[list[str], Query(min_length=1, description="References.")]
) -> Response:
    """One value for each run and metric."""
    return Answer({"points": list(map(point_to_json, client.results.points(run)))})


@router.get("/runs/{ref}/metrics", summary="Summaries of the samples of a run")
def summaries(ref: str, client: Asking) -> Response:
    """Count, last, extremes and mean of the samples of every metric."""
    return Answer({"metrics": list(map(summary_to_json, client.results.summaries(ref)))})


@router.get("/runs/{ref}/sample-columns", summary="Samples of one metric")
def samples(
    ref: str,
    metric: str,
    client: Asking,
    most: Annotated[int | None, Query(ge=1, description="Thin the samples to at most so many.")] = None,
) -> Response:
    """The samples as columns of equal length."""
    return Answer(columns_to_json(client.results.samples(ref, metric, most=most)))
