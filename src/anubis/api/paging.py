"""Pages of listings of runs by keyset: a cursor names the last run of a page, so new runs do not shift pages."""

import base64
import binascii
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anubis.contracts.runs import RunQuery, RunRow
from anubis.model.errors import BadInputError

#: Most runs of one page, and those of a page whose request names no limit.
MOST, USUAL = 1000, 100
#: Parameter of a listing -> field of the query.
_FIELDS = {
    "benchmark": "name",
    "commit": "subject",
    "family": "family_id",
    "parent": "parent_id",
    "owner": "owner",
    "metric": "metric",
    "since_s": "since_s",
    "until_s": "until_s",
}


@dataclass(frozen=True, slots=True)
class Page:
    """One page of runs."""

    rows: Sequence[RunRow]
    #: Cursor of the next page; None on the last page.
    next: str | None


def page_of(rows: Sequence[RunRow], limit: int) -> Page:
    """The page of at most ``limit`` rows, from a query for one row more, which shows whether there is a next page."""
    shown = rows[:limit]
    return Page(shown, cursor_after(shown[-1].id) if len(rows) > limit else None)


def cursor_after(run_id: str) -> str:
    """The cursor for the page after this run: 22 characters that are safe in addresses."""
    return base64.urlsafe_b64encode(uuid.UUID(run_id).bytes).rstrip(b"=").decode()


def run_before(cursor: str) -> str:
    """The id of the run after which a page begins (``RunQuery.after``). Raises BadInputError."""
    try:
        data = base64.b64decode(f"{cursor}==".encode("ascii"), altchars=b"-_", validate=True)
        run_id = str(uuid.UUID(bytes=data))
    except (ValueError, binascii.Error):
        run_id = ""
    if not run_id or cursor_after(run_id) != cursor:
        raise BadInputError(
            "the cursor is not valid", remedy="use the cursor of the previous page, unchanged"
        )
    return run_id


def query_to_params(query: RunQuery) -> Iterator[tuple[str, str]]:
    """Names and values of the parameters of a listing."""
    for run_id in query.ids:
        yield "id", run_id
    for status in query.statuses:
        yield "status", status.value
    for name, value in query.labels.items():
        yield "label", f"{name}={value}"
    for parameter, field in _FIELDS.items():
        if (value := getattr(query, field)) is not None:
            yield parameter, str(value)
    if not query.newest_first:
        yield "oldest_first", "true"
    if query.after is not None:
        yield "cursor", cursor_after(query.after)
    yield "limit", str(query.limit)
