"""Receives records that agents ship: answers one request of the protocol in ``anubis.record.replication``.

It needs no web framework. The caller has authenticated the token and authorised it for the run.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote

from anubis.contracts.records import RecordKey, Records
from anubis.model.errors import FullError, StoreError
from anubis.model.run import Run
from anubis.record import layout
from anubis.record.appending import ConflictError, GapError
from anubis.record.replication import MOST_APPENDED_BYTES, MOST_REPLACED_BYTES

_PIECE = 1 << 16
_LONGEST_TARGET = 1000


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
    try:
        return _json(200, _answer(records, run, request))
    except _RefusalError as refusal:
        return _json(refusal.status, {"error": str(refusal)}, close=refusal.close)
    except GapError as gap:
        return _json(409, {"error": str(gap), "expected": gap.expected})
    except ConflictError as conflict:
        return _json(422, {"error": str(conflict)})
    except ValueError as error:
        return _json(400, {"error": str(error)})
    except FullError as error:
        return _json(507, {"error": str(error)})
    except StoreError as error:
        return _json(503, {"error": str(error)})


def refusal(status: int, message: str) -> Response:
    """The answer to a request whose body is not read."""
    return _json(status, {"error": message}, close=True)


def _answer(records: Records, run: Run, request: Request) -> dict[str, Any]:
    key, file, offset = _parsed(run, request.target)
    if request.method == "GET" and file is None:
        stored = [each for each in records.list(key.run_id, key.attempt) if each.key == key]
        return {"files": {each.file: each.size_bytes for each in stored if each.file in layout.GROWING}}
    if request.method != "PUT" or file is None:
        raise _RefusalError(405, f"{request.method} is not possible here")
    if file in layout.REPLACED and offset is None:
        data = _read(request, MOST_REPLACED_BYTES)
        records.replace(key, file, data)
        return {"size": len(data)}
    if file in layout.GROWING and offset is not None:
        data = _read(request, MOST_APPENDED_BYTES)
        return {"size": records.append(key, file, offset, data)}
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
