"""The output of a run: its last lines at once, earlier ones on request, new ones as they are written, and search."""

from typing import Annotated

from fastapi import Query, Request, Response

from anubis.model.errors import BadInputError
from anubis.model.run import Run
from anubis.record.files import Files
from anubis.record.layout import BENCHMARK, FIRST_RANK, STDERR, STDOUT, check_role
from anubis.reporting.status_words import WORDS
from anubis.search.following import Place, RunFollower
from anubis.search.query import LogQuery
from anubis.search.windows import window
from anubis.web import streams
from anubis.web.descriptors import MOST_NUMBER
from anubis.web.live import following
from anubis.web.live.reading import Wanted
from anubis.web.pages import visit as visits
from anubis.web.pages.parts import output
from anubis.web.pages.parts.formats import link
from anubis.web.pages.visit import Visiting
from anubis.web.service import Asked

router = visits.router()

#: Found lines that are shown.
_FOUND = 200
Rank = Annotated[int, Query(ge=0, le=MOST_NUMBER)]


@router.get("/runs/{ref}/output")
def show(
    *,
    ref: str,
    visit: Visiting,
    role: str = BENCHMARK,
    rank: Rank = FIRST_RANK,
    before: str = "",
    find: Annotated[str, Query(max_length=1000)] = "",
) -> Response:
    """The last lines of one replica, or those before a place."""
    run = visit.client.runs.get(ref)
    files = _files(visit, run, role, rank)
    found = window(files, before=output.place_of(before, role, rank), is_over=run.status.final)
    base = f"/ui/runs/{run.id}/output"
    lines = output.lines_of(found)
    page = visit.client.records.search(_query(run, find, role, rank)) if find else None
    stream = ""
    if not before and not run.status.final:
        stream = link(f"{base}/stream", place=output.place_text(run.attempt, role, rank, found.end))
    earlier = ""
    if not found.is_first:
        earlier = link(
            base, role=role, rank=rank, before=output.place_text(run.attempt, role, rank, found.start)
        )
    return visit.page(
        "output.html",
        title=f"Output of {run.descriptor.info.name}: {WORDS[run.status]}",
        plain=lambda: {"run_id": run.id, "lines": [_to_json(line) for line in lines]},
        run=run,
        lines=lines,
        errors=sum(line.is_error for line in lines),
        found=page,
        find=find,
        stream=stream,
        earlier=earlier,
        is_earlier=bool(before),
        latest=link(base, role=role, rank=rank),
        role=role,
        rank=rank,
        replicas=visit.client.records.replicas(run),
        tab="output",
    )


def _query(run: Run, text: str, role: str, rank: int) -> LogQuery:
    return LogQuery(pattern=text, ignore_case=True, run_ids=(run.id,), role=role, rank=rank, limit=_FOUND)


def _to_json(line: output.ShownLine) -> dict[str, object]:
    return {"stream": line.stream, "time": line.time, "line": line.text, "error": line.is_error}


def _files(visit: visits.Visit, run: Run, role: str, rank: int) -> Files:
    try:
        check_role(run.attempt, role, rank)
    except ValueError as error:
        raise BadInputError(str(error), remedy="use a role and a rank of the run") from error
    return visit.client.records.files(run, role, rank)


@router.get("/runs/{ref}/output/stream")
def stream(
    ref: str, request: Request, visit: Visiting, installation: Asked, place: Annotated[str, Query()]
) -> Response:
    """New lines after a place, as they are written."""
    run = visit.client.runs.get(ref)
    known = Place.of(streams.resumed_at(request) or place)
    role, rank = next(iter(known.replicas), (BENCHMARK, FIRST_RANK))
    wanted = Wanted(
        installation=installation,
        run_id=run.id,
        role=role,
        rank=rank,
        chosen="page",
        start=lambda files, attempt: RunFollower(files, Place(attempt), (STDOUT, STDERR)),
        resume=lambda files, place: RunFollower(files, place, (STDOUT, STDERR)),
        place_of=Place.of,
        place=known,
        kind="lines",
        to_json=output.line_to_plain,
    )
    return streams.answer(request, following.followed(request.app.state.watches, wanted))
