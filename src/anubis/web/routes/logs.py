"""Search in the output of all runs."""

from functools import partial
from typing import Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Query, Response

from anubis.api.search.found import page_to_json, place_of
from anubis.model.status import Status
from anubis.record.layout import STDERR, STDOUT
from anubis.search.matchers import LONGEST_PATTERN
from anubis.search.query import MOST_CONTEXT, MOST_LINES, LogQuery
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import MOST_NUMBER
from anubis.web.routes.runs import label_of
from anubis.web.service import Asking

router = APIRouter(route_class=NounRoute, tags=["logs"])

#: Searches at the same time; others wait without a thread, so that they delay no other request.
MOST_SEARCHES = 4
_searches = CapacityLimiter(MOST_SEARCHES)


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
    return await to_thread.run_sync(work, limiter=_searches)


def _page(client: Asking, refs: list[str], **conditions: object) -> Response:
    run_ids = tuple(client.runs.get(ref).id for ref in refs)
    page = client.records.search(LogQuery(run_ids=run_ids, **conditions))  # type: ignore[arg-type]
    return Answer(page_to_json(page))
