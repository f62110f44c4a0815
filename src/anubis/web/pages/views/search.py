"""Search in the output of all runs."""

from functools import partial
from typing import Annotated

from fastapi import Query, Response
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool

from anubis.api.search.found import cursor_of, page_to_json, place_of
from anubis.reporting.markup import visible
from anubis.search.matchers import LONGEST_PATTERN
from anubis.search.query import FoundLine, LogQuery
from anubis.web.pages import visit as visits
from anubis.web.pages.parts.formats import link
from anubis.web.pages.visit import Visit, Visiting
from anubis.web.routes.logs import SEARCHES

router = visits.router()

_LINES = 100


@router.get("/search")
async def search(
    *,
    visit: Visiting,
    pattern: Annotated[str, Query(max_length=LONGEST_PATTERN)] = "",
    regex: bool = False,
    case: bool = False,
    benchmark: str = "",
    commit: str = "",
    cursor: str = "",
) -> Response:
    """One page of lines that match, newest runs first."""
    filters: dict[str, object] = {
        "pattern": pattern,
        "regex": regex or "",
        "case": case or "",
        "benchmark": benchmark,
        "commit": commit,
    }
    if not pattern:
        return visit.page(
            "search.html", title="Search in all output", plain=dict, found=None, filters=filters, next=""
        )
    query = LogQuery(
        pattern=pattern,
        regex=regex,
        ignore_case=not case,
        benchmark=benchmark or None,
        commit=commit or None,
        limit=_LINES,
        after=place_of(cursor) if cursor else None,
    )
    async with SEARCHES:
        return await run_in_threadpool(partial(_found, visit, query, filters))


def _found(visit: Visit, query: LogQuery, filters: dict[str, object]) -> Response:
    page = visit.client.records.search(query)
    count = f"{len(page.lines)}{'+' if page.next else ''} line{'s' * (len(page.lines) != 1)}"
    return visit.page(
        "search.html",
        title=f"{count} match" if page.lines else "No line matches",
        plain=lambda: page_to_json(page),
        found=page,
        lines=[(line, _marked(line)) for line in page.lines],
        filters=filters,
        next=link("/ui/search", **filters, cursor=cursor_of(page.next)) if page.next else "",
    )


def _marked(line: FoundLine) -> Markup:
    """The line with its matching parts marked."""
    parts, at = [], 0
    for start, end in line.highlights:
        parts += [
            escape(visible(line.text[at:start])),
            Markup("<mark>{}</mark>").format(visible(line.text[start:end])),
        ]
        at = end
    return Markup("").join([*parts, escape(visible(line.text[at:]))])
