"""The list of runs. Its filters are in the address; a page begins after a run, so new runs do not shift it."""

from typing import Annotated

from fastapi import Query, Response

from anubis.api.paging import page_of, run_before
from anubis.api.runs import row_to_json
from anubis.contracts.runs import RunQuery
from anubis.model.errors import AnubisError, NotFoundError
from anubis.model.status import Status
from anubis.web.pages import visit as visits
from anubis.web.pages.parts.formats import link, segment
from anubis.web.pages.visit import Visiting
from anubis.web.routes.runs import label_of

router = visits.router()

#: Rows of a page.
ROWS = 50
#: Choices of the filter of statuses, besides single statuses.
_ACTIVE = "active"


@router.get("/runs")
def runs(
    *,
    visit: Visiting,
    find: str = "",
    status: str = "",
    benchmark: str = "",
    commit: str = "",
    label: Annotated[str, Query(description="NAME=VALUE")] = "",
    metric: str = "",
    owner: str = "",
    family: str = "",
    cursor: str = "",
) -> Response:
    """One page of runs, newest first."""
    if find and (to := _found(visit, find.strip())):
        return visit.to(to)
    query = RunQuery(
        statuses=_statuses(status),
        labels=dict([label_of(label)]) if label else {},
        name=benchmark or None,
        subject=commit or None,
        metric=metric or None,
        owner=owner or None,
        family_id=family or None,
        limit=ROWS + 1,
        after=run_before(cursor) if cursor else None,
    )
    page = page_of(visit.client.runs.find(query), ROWS)
    filters = {
        "status": status,
        "benchmark": benchmark,
        "commit": commit,
        "label": label,
        "metric": metric,
        "owner": owner,
        "family": family,
    }
    return visit.page(
        "runs.html",
        title=_title(page.rows, page.next is not None, is_filtered=any(filters.values())),
        plain=lambda: {"runs": list(map(row_to_json, page.rows)), "next": page.next},
        rows=page.rows,
        filters=filters,
        is_filtered=any(filters.values()),
        is_later=bool(cursor),
        older=link("/ui/runs", **filters, cursor=page.next) if page.next else "",
        statuses=[(_ACTIVE, "in progress"), *((each.value, each.value) for each in Status if each.final)],
    )


def _statuses(status: str) -> tuple[Status, ...]:
    if status == _ACTIVE:
        return tuple(each for each in Status if not each.final)
    return (Status(status),) if status in list(Status) else ()


def _found(visit: visits.Visit, text: str) -> str:
    """The address of the run or of the benchmark with this name; of its runs if there is neither."""
    try:
        return f"/ui/runs/{visit.client.runs.get(text).id}"
    except (AnubisError, ValueError):
        pass
    names = visit.client.runs.names().benchmarks
    if text in names:
        return f"/ui/benchmarks/{segment(text)}"
    near = [name for name in names if text.casefold() in name.casefold()]
    if len(near) == 1:
        return f"/ui/benchmarks/{segment(near[0])}"
    if near:
        return link("/ui/benchmarks", find=text)
    if visit.client.runs.find(RunQuery(subject=text, limit=1)):
        return link("/ui/runs", commit=text)
    raise NotFoundError(
        f"no run, benchmark or commit is named {text[:100]!r}",
        remedy="search in the output of runs: /ui/search",
    )


def _title(rows: object, has_more: bool, *, is_filtered: bool) -> str:
    shown = list(rows)  # type: ignore[call-overload]
    if not shown:
        return "No runs match" if is_filtered else "No runs yet"
    failed = sum(row.status is Status.FAILED for row in shown)
    active = sum(not row.status.final for row in shown)
    parts = [f"{failed} failed"] * bool(failed) + [f"{active} in progress"] * bool(active)
    count = f"{len(shown)} newest runs" if has_more else f"{len(shown)} run{'s' * (len(shown) != 1)}"
    return f"{count}: {', '.join(parts)}" if parts else f"{count}: all succeeded or cancelled"
