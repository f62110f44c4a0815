"""The values of runs, and their samples."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from anubis.api.points import columns_to_json, point_to_json, summary_to_json
from anubis.search.samples import SampleFollower, SamplePlace
from anubis.web import streams
from anubis.web.answers import Answer, NounRoute
from anubis.web.live import following
from anubis.web.live.reading import Wanted
from anubis.web.service import Asked, Asking

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


@router.get("/runs/{ref}/sample-blocks", summary="Samples of several metrics", responses=streams.DOCUMENTED)
def all_samples(
    *,
    ref: str,
    request: Request,
    client: Asking,
    installation: Asked,
    metric: Annotated[list[str], Query(description="Names of metrics; by default all.")] = [],  # noqa: B006  read only
    most: Annotated[int | None, Query(ge=1, description="Thin each metric to at most so many.")] = None,
    role: Annotated[str | None, Query(description="Only replicas of this role (of a stream).")] = None,
    rank: Annotated[int | None, Query(ge=0, description="Only replicas of this rank (of a stream).")] = None,
) -> Response:
    """The stored samples, as columns of equal length for each metric.

    With the header Accept: text/event-stream, the samples of all replicas as events while they are measured: ``samples``
    with an attempt and the next columns of each replica, and ``end``. The id of an event is the place after its samples:
    with it in the header Last-Event-ID, the stream continues there.
    """
    run = client.runs.get(ref)
    if not streams.is_wanted(request):
        blocks = client.results.samples_of(run.id, metric, most=most)
        return Answer({"run_id": run.id, "samples": list(map(columns_to_json, blocks))})
    last_id = streams.resumed_at(request)
    place = SamplePlace.of(last_id) if last_id else None
    wanted = Wanted(
        installation=installation,
        run_id=run.id,
        role=role,
        rank=rank,
        chosen=frozenset(metric),
        start=lambda files, attempt: SampleFollower(files, SamplePlace(attempt), metric),
        resume=lambda files, place: SampleFollower(files, place, metric),
        place_of=SamplePlace.of,
        place=place,
        kind="samples",
        to_json=lambda new: {"role": new.role, "rank": new.rank, **columns_to_json(new.samples)},
    )
    return streams.answer(request, following.followed(request.app.state.watches, wanted))


@router.get("/runs/{ref}/sample-columns", summary="Samples of one metric")
def samples(
    ref: str,
    metric: str,
    client: Asking,
    most: Annotated[int | None, Query(ge=1, description="Thin the samples to at most so many.")] = None,
) -> Response:
    """The samples as columns of equal length."""
    return Answer(columns_to_json(client.results.samples(ref, metric, most=most)))
