"""The output of runs: of one run, followed, and searched over all."""

import asyncio
import itertools
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from anubis.api.search.found import page_to_json, place_of
from anubis.client import Client
from anubis.model.errors import BadInputError
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.record.files import Files
from anubis.record.layout import BENCHMARK, FIRST_RANK, STDERR, STDOUT, check_role
from anubis.record.log_stream import LogStream
from anubis.search.following import Place, RunFollower, line_to_json
from anubis.search.matchers import LONGEST_PATTERN
from anubis.search.query import MOST_CONTEXT, MOST_LINES, LogQuery
from anubis.web import streams
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import MOST_NUMBER
from anubis.web.live import following
from anubis.web.live.reading import Wanted
from anubis.web.routes.runs import label_of
from anubis.web.service import Asked, Asking

router = APIRouter(route_class=NounRoute, tags=["logs"])

#: Searches at the same time; others wait without a thread, so that they delay no other request.
MOST_SEARCHES = 4
SEARCHES = asyncio.Semaphore(MOST_SEARCHES)
#: Most lines of one page of the output of a run.
MOST_PRINTED = 10_000
#: Largest rank.
MOST_REPLICAS = 1_000_000


@router.get("/runs/{ref}/logs", summary="Output of a run", responses=streams.DOCUMENTED)
def logs(
    *,
    ref: str,
    request: Request,
    client: Asking,
    installation: Asked,
    stream: Annotated[list[str], Query(description="stdout, stderr; both by default.")] = [STDOUT, STDERR],  # noqa: B006
    role: Annotated[str | None, Query(description="Only replicas of this role.")] = None,
    rank: Annotated[
        int | None, Query(ge=0, le=MOST_REPLICAS, description="Only replicas of this rank.")
    ] = None,
    after: Annotated[int, Query(ge=0, le=MOST_NUMBER, description="Number of lines that are known.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_PRINTED)] = MOST_PRINTED,
) -> Response:
    """One page of the lines of one replica (by default rank 0 of the benchmark) in the current attempt, in the order of arrival.

    With the header Accept: text/event-stream, the lines of all replicas as events that follow the run to its end: ``lines``
    with an attempt and its next lines, and ``end``. The id of an event is the place after its lines: with it in the header
    Last-Event-ID, the stream continues there. A line that is not UTF-8 also has its bytes in ``base64``.
    """
    if unknown := set(stream) - {STDOUT, STDERR}:
        raise BadInputError(f"{min(unknown)!r} is not a stream", remedy="use stdout or stderr")
    run = client.runs.get(ref)
    if streams.is_wanted(request):
        last_id = streams.resumed_at(request)
        place = Place.of(last_id) if last_id else None
        wanted = Wanted(
            installation=installation,
            run_id=run.id,
            role=role,
            rank=rank,
            chosen=frozenset(stream),
            start=lambda files, attempt: RunFollower(files, Place(attempt), stream),
            resume=lambda files, place: RunFollower(files, place, stream),
            place_of=Place.of,
            place=place,
            kind="lines",
            to_json=line_to_json,
        )
        return streams.answer(request, following.followed(request.app.state.watches, wanted))
    files = _files_of(client, run, role or BENCHMARK, FIRST_RANK if rank is None else rank)
    lines = LogStream(files, stream).lines(last=True)
    page = list(itertools.islice(lines, after, after + limit))
    return Answer(
        {"attempt": run.attempt, "lines": [_line(*each) for each in page], "after": after + len(page)}
    )


def _files_of(client: Client, run: Run, role: str, rank: int) -> Files:
    """The files of a replica. Raises BadInputError for a role that no replica can have."""
    try:
        check_role(run.attempt, role, rank)
    except ValueError as error:
        raise BadInputError(str(error), remedy="use a role and a rank of the run") from error
    return client.records.files(run, role, rank)


def _line(time_ns: int, stream: str, line: bytes) -> dict[str, object]:
    return {"time_s": time_ns / 1e9, "stream": stream, "line": line.decode("utf-8", "replace")}


@router.get("/logs", summary="Search in the output of runs")
async def search(
    *,
    client: Asking,
    pattern: Annotated[str, Query(min_length=1, max_length=LONGEST_PATTERN)],
    regex: Annotated[bool, Query(description="The pattern is a regular expression of Python.")] = False,
    ignore_case: Annotated[bool, Query(description="Of ASCII letters.")] = False,
    run: Annotated[list[str], Query(description="References.")] = [],  # noqa: B006  read only
    status: Annotated[list[Status], Query()] = [],  # noqa: B006
    label: Annotated[list[str], Query(description="NAME=VALUE; a run must have all.")] = [],  # noqa: B006
    benchmark: str | None = None,
    commit: Annotated[str | None, Query(description="Prefix of a commit or version.")] = None,
    family: Annotated[str | None, Query(description="Id of a family or of a sweep.")] = None,
    since_s: Annotated[float | None, Query(description="Lines that arrived at or after this time.")] = None,
    until_s: Annotated[float | None, Query(description="Lines that arrived before this time.")] = None,
    stream: Annotated[list[str], Query(description="stdout, stderr; both by default.")] = [STDOUT, STDERR],  # noqa: B006
    role: str | None = None,
    rank: Annotated[int | None, Query(ge=0, le=MOST_NUMBER)] = None,
    context: Annotated[int, Query(ge=0, le=MOST_CONTEXT, description="Lines around each line.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_LINES)] = 100,
    cursor: Annotated[str | None, Query(description="``next`` of the previous page.")] = None,
) -> Response:
    """One page of lines that match, newest runs first, and the cursor of the next page.

    A page may end after a few seconds with fewer lines; the search is complete when ``next`` is null. ``unsearched`` names
    runs whose record could not be read.
    """
    work = partial(
        _page,
        client,
        run,
        pattern=pattern,
        regex=regex,
        ignore_case=ignore_case,
        statuses=tuple(status),
        labels=dict(map(label_of, label)),
        benchmark=benchmark,
        commit=commit,
        family_id=family,
        since_s=since_s,
        until_s=until_s,
        streams=tuple(stream),
        role=role,
        rank=rank,
        context=context,
        limit=limit,
        after=place_of(cursor) if cursor else None,
    )
    async with SEARCHES:
        return await run_in_threadpool(work)


def _page(client: Asking, refs: list[str], **conditions: object) -> Response:
    run_ids = tuple(client.runs.get(ref).id for ref in refs)
    page = client.records.search(LogQuery(run_ids=run_ids, **conditions))  # type: ignore[arg-type]
    return Answer(page_to_json(page))
