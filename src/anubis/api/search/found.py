"""Searches in the output of runs: their parameters, and what is found."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from anubis.api.json_values import Json
from anubis.model.errors import BadInputError
from anubis.model.plain import from_plain
from anubis.search.query import FoundLine, LogPage, LogPlace, LogQuery, Unsearched

_PLACE = ("run_id", "attempt", "role", "rank", "stream", "offset")


def page_to_json(page: LogPage) -> Json:
    """A page; ``next`` is a cursor."""
    return {
        "lines": list(map(line_to_json, page.lines)),
        "next": cursor_of(page.next) if page.next else None,
        "read_bytes": page.read_bytes,
        "unsearched": [{"run_id": each.run_id, "reason": each.reason} for each in page.unsearched],
    }


def line_to_json(line: FoundLine) -> Json:
    """A found line."""
    return {
        "run_id": line.run_id,
        "benchmark": line.benchmark,
        "attempt": line.attempt,
        "role": line.role,
        "rank": line.rank,
        "stream": line.stream,
        "line": line.line,
        "offset": line.offset,
        "time_s": line.time_s,
        "text": line.text,
        "cut": list(line.cut),
        "highlights": [list(span) for span in line.highlights],
        "before": list(line.before),
        "after": list(line.after),
    }


def page_from_json(plain: Mapping[str, Any]) -> LogPage:
    """See ``page_to_json``."""
    return LogPage(
        lines=tuple(from_plain(FoundLine, each) for each in plain["lines"]),
        next=place_of(plain["next"]) if plain["next"] else None,
        read_bytes=plain["read_bytes"],
        unsearched=tuple(from_plain(Unsearched, each) for each in plain["unsearched"]),
    )


def cursor_of(place: LogPlace) -> str:
    """The cursor of a place, which is safe in addresses."""
    text = json.dumps([getattr(place, name) for name in _PLACE], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def place_of(cursor: str) -> LogPlace:
    """The place of a cursor. Raises BadInputError."""
    try:
        padded = f"{cursor}{'=' * (-len(cursor) % 4)}".encode("ascii")
        values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        place = from_plain(LogPlace, dict(zip(_PLACE, values, strict=True)))
        if cursor_of(place) == cursor and not place.run_id.startswith("@"):
            return place
    except (ValueError, TypeError, RecursionError):
        pass
    raise BadInputError("the cursor is not valid", remedy="use the cursor of the previous page, unchanged")


def query_to_params(query: LogQuery) -> Iterator[tuple[str, str]]:
    """Names and values of the parameters of a search."""
    yield "pattern", query.pattern
    for name in ("regex", "ignore_case"):
        if getattr(query, name):
            yield name, "true"
    for run_id in query.run_ids:
        yield "run", run_id
    for label, value in query.labels.items():
        yield "label", f"{label}={value}"
    for status in query.statuses:
        yield "status", status.value
    for stream in query.streams:
        yield "stream", stream
    for name in ("benchmark", "commit", "family_id", "since_s", "until_s", "role", "rank"):
        if (given := getattr(query, name)) is not None:
            yield name.removesuffix("_id"), str(given)
    yield "context", str(query.context)
    yield "limit", str(query.limit)
    if query.after is not None:
        yield "cursor", cursor_of(query.after)
