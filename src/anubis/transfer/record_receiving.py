"""Receives records that agents ship: answers one request of the protocol in ``anubis.record.replication``.

It needs no web framework. The caller has authenticated the token and authorised it for the run.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote

from anubis.contracts.records import Append, RecordKey, Records
from anubis.model.errors import FullError, StoreError
from anubis.model.run import Run
from anubis.record import layout
from anubis.record.appending import ConflictError, GapError
from anubis.record.replication import MOST_APPENDED_BYTES, MOST_REPLACED_BYTES

_PIECE = 1 << 16
_LONGEST_TARGET = 1000
#: Parts of one request, and the longest line before a part.
_MOST_PARTS, _LONGEST_HEAD = 64, 100
#: Largest body of a request that appends.
MOST_BYTES = MOST_APPENDED_BYTES + _MOST_PARTS * _LONGEST_HEAD
_STATUSES: dict[type[Exception], int] = {ConflictError: 422, ValueError: 400, FullError: 507, StoreError: 503}
#: What ``Records`` raises when it does not store something.
FAILURES: tuple[type[Exception], ...] = (GapError, *_STATUSES)


class Body(Protocol):
    """The body of a request."""

    def read(self, length: int, /) -> bytes:
        """Up to ``length`` bytes; none at its end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a sender asks. ``respond`` reads nothing of the body but what it accepts."""

    method: str
    #: What follows ``/api/runs/<id>/record/`` in the request line, still quoted:
    #: ``<attempt>/<role>/<rank>`` and perhaps ``/<file>?offset=N``.
    target: str
    headers: Mapping[str, str]
    body: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What to answer, as application/json."""

    status: int
    body: bytes
    #: The body of the request was not read to its end: the connection cannot carry another request.
    close: bool = False


class _RefusalError(Exception):
    def __init__(self, status: int, message: str, *, close: bool = True) -> None:
        super().__init__(message)
        self.status = status
        self.close = close


def respond(records: Records, run: Run, request: Request) -> Response:
    """Answer a request for the record of this run."""
    appends = appends_of(run, request)
    if isinstance(appends, Response):
        return appends
    if appends is not None:
        return appended(request.method, appends, records.append_all(appends))
    try:
        return _json(200, _answer(records, run, request))
    except _RefusalError as error:
        return _json(error.status, {"error": str(error)}, close=error.close)
    except FAILURES as error:
        return failure(error)


def appends_of(run: Run, request: Request) -> "Sequence[Append] | Response | None":
    """The appends that a request asks for, or its refusal; None if it asks for something else."""
    try:
        key, file, offset = _parsed(run, request.target)
        if request.method == "POST" and file is None:
            return _parts(key, _read(request, MOST_BYTES))
        if request.method != "PUT" or file not in layout.GROWING or offset is None:
            return None
        return [Append(key=key, file=file, offset=offset, data=_read(request, MOST_APPENDED_BYTES))]
    except _RefusalError as error:
        return _json(error.status, {"error": str(error)}, close=error.close)
    except ValueError as error:
        return failure(error)


def appended(method: str, appends: Sequence[Append], sizes: "Sequence[int | Exception]") -> Response:
    """The answer to a request with these appends and results. Raises those that are none of ``FAILURES``."""
    known: dict[str, int] = {}
    for each, size in zip(appends, sizes, strict=True):
        if isinstance(size, Exception):
            if not isinstance(size, FAILURES):
                raise size
            return failure(size) if method == "PUT" else failure(size, file=each.file)
        known[each.file] = size
    return _json(200, {"size": sizes[0]} if method == "PUT" else {"sizes": known})


def _parts(key: RecordKey, body: bytes) -> Sequence[Append]:
    """The parts of a request with several: a line ``FILE OFFSET LENGTH`` and the bytes, for each of them."""
    found: list[Append] = []
    at = 0
    while at < len(body):
        end = body.find(b"\n", at, at + _LONGEST_HEAD)
        words = body[at : max(end, at)].decode("ascii", "replace").split(" ")
        if len(words) != 3 or len(found) >= _MOST_PARTS:
            raise ValueError(f"expected a line FILE OFFSET LENGTH at byte {at}, {_MOST_PARTS} at most")
        file, offset, length = words[0], _number(words[1], "offset"), _number(words[2], "length")
        if file not in layout.GROWING:
            raise ValueError(f"{file!r} is not a file that is appended to")
        at = end + 1 + length
        if at > len(body):
            raise ValueError(f"the part of {file} has {len(body) - end - 1} of {length} bytes")
        data = body[end + 1 : at]
        found.append(Append(key=key, file=file, offset=offset, data=data, follows=bool(found)))
    return found


def failure(error: Exception, **about: str) -> Response:
    """The answer to a request that ended in one of ``FAILURES``."""
    if isinstance(error, GapError):
        return _json(409, {"error": str(error), "expected": error.expected, **about})
    status = next(status for kind, status in _STATUSES.items() if isinstance(error, kind))
    return _json(status, {"error": str(error), **about})


def refusal(status: int, message: str) -> Response:
    """The answer to a request whose body is not read."""
    return _json(status, {"error": message}, close=True)


def _answer(records: Records, run: Run, request: Request) -> dict[str, Any]:
    key, file, offset = _parsed(run, request.target)
    if request.method == "GET" and file is None:
        stored = [each for each in records.list(key.run_id, key.attempt) if each.key == key]
        sizes = {each.file: each.size_bytes for each in stored if each.file in layout.GROWING}
        return {"files": sizes, "parts": True}
    if request.method != "PUT" or file is None:
        raise _RefusalError(405, f"{request.method} is not possible here")
    if file in layout.REPLACED and offset is None:
        data = _read(request, MOST_REPLACED_BYTES)
        records.replace(key, file, data)
        return {"size": len(data)}
    raise _RefusalError(
        400, f"{file!r} is not a file that is {'replaced' if offset is None else 'appended to'}"
    )


def _parsed(run: Run, target: str) -> tuple[RecordKey, str | None, int | None]:
    """Record, file and offset in the target of a request."""
    path, _, query = target.partition("?")
    parts = [unquote(part, errors="strict") for part in path.split("/")]
    if len(target) > _LONGEST_TARGET or len(parts) not in {3, 4}:
        raise _RefusalError(404, "expected <attempt>/<role>/<rank> or <attempt>/<role>/<rank>/<file>")
    attempt, rank = _number(parts[0], "attempt"), _number(parts[2], "rank")
    layout.check_role(attempt, parts[1], rank)
    if attempt > run.attempt:
        raise _RefusalError(404, f"run {run.id} has no attempt {attempt}")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if options.keys() - {"offset"}:
        raise _RefusalError(400, "the only parameter is offset")
    offset = _number(options["offset"], "offset") if options else None
    return RecordKey(run.id, attempt, parts[1], rank), parts[3] if len(parts) == 4 else None, offset


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise _RefusalError(400, f"{name} {text!r} is not a number from 0 to 10^18")
    return int(text)


def _read(request: Request, most: int) -> bytes:
    """All of the body, and nothing of one that was cut off: what is stored was acknowledged or is sent again."""
    given = {name.lower(): value for name, value in request.headers.items()}
    if "content-length" not in given:
        raise _RefusalError(411, "Content-Length is missing")
    length = _number(given["content-length"], "Content-Length")
    if length > most:
        raise _RefusalError(413, f"the body has {length} bytes, and {most} are accepted")
    data = bytearray()
    while len(data) < length:
        piece = request.body.read(min(_PIECE, length - len(data)))
        if not piece:
            # 408 is repeated by senders; the connection is most likely gone.
            raise _RefusalError(408, f"the body ended after {len(data)} of {length} bytes")
        data += piece
    return bytes(data)


def _json(status: int, content: Mapping[str, Any], *, close: bool = False) -> Response:
    return Response(status=status, body=json.dumps(content).encode(), close=close)
