"""Receives the records that joined workers ship (docs/reference/record-replication.md).

A request is authorised by the token of one attempt, and only as long as that attempt is open. It can append to the record
of that attempt, for the roles and ranks that its descriptor has, up to a limit, and nothing else.
"""

import asyncio
import io
import re
from dataclasses import dataclass, replace

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from anubis.model.descriptor import Descriptor
from anubis.model.errors import AnubisError
from anubis.model.machines import token as machine_token
from anubis.model.run import Run
from anubis.record.replication import MOST_APPENDED_BYTES, MOST_REPLACED_BYTES
from anubis.submission.bundle import bundle_of
from anubis.transfer import record_receiving
from anubis.transfer.record_receiving import refusal
from anubis.web.access.policy import PREFIX
from anubis.web.service import Service
from anubis.wiring import Installation

#: A sender that sends nothing for so long within a body is gone, seconds.
PATIENCE_S = 60.0
#: Most attempts whose descriptor and size are remembered.
_MOST_KNOWN = 1000


@dataclass(slots=True)
class _Known:
    """An attempt whose record is received."""

    run: Run
    #: Role -> number of its ranks.
    ranks: dict[str, int]
    #: Upper bound of the bytes of its record.
    size_bytes: int


class Receiving:
    """The routes, with what they remember of open attempts. Threads may share it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], _Known] = {}

    def routes(self) -> list[Route]:
        record = f"{PREFIX}/runs/{{run_id}}/record/{{attempt:int}}/{{role}}/{{rank}}"
        return [
            Route(record, self._receive, methods=["GET"]),
            Route(f"{record}/{{file}}", self._receive, methods=["PUT"]),
        ]

    async def _receive(self, request: Request) -> Response:
        service: Service = request.app.state.service
        try:
            known = await run_in_threadpool(self._authorised, service.installation, request)
            if isinstance(known, record_receiving.Response):
                return _answer(known)
            body = await _body(request)
            return _answer(await run_in_threadpool(self._stored, service.installation, known, request, body))
        except AnubisError as error:  # the database does not answer: the request is repeated
            return _answer(refusal(503, error.message))

    def _authorised(
        self, installation: Installation, request: Request
    ) -> "_Known | record_receiving.Response":
        """The attempt, or why it is refused: in the same words for an unknown and for another attempt."""
        run_id, attempt = request.path_params["run_id"], request.path_params["attempt"]
        token = machine_token.bearer(request.headers.get("authorization", ""))
        stored = installation.store.joined.get_attempt(run_id, attempt) if token else None
        if stored is None or not stored.is_open or not machine_token.is_token(token, stored.token):
            self._known.pop((run_id, attempt), None)
            return refusal(401, "the token is not valid for the record of this attempt")
        known = self._known.get((run_id, attempt))
        if known is None:
            run = replace(installation.world.runs.get(run_id), attempt=attempt)
            known = _Known(run, _ranks(run.descriptor), 0)
            known.size_bytes = _size(installation, known.run)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[run_id, attempt] = known
        role, rank = request.path_params["role"], request.path_params["rank"]
        if not (re.fullmatch(r"0|[1-9][0-9]{0,9}", rank) and int(rank) < known.ranks.get(role, 0)):
            return refusal(404, f"the run has no role {role!r} with rank {rank}")
        return known

    def _stored(
        self, installation: Installation, known: _Known, request: Request, body: bytes
    ) -> record_receiving.Response:
        most = installation.settings.record_bytes
        if known.size_bytes + len(body) > most:
            known.size_bytes = _size(installation, known.run)  # bytes that were sent again count once
            if known.size_bytes + len(body) > most:
                return refusal(413, f"the record of an attempt may have {most} bytes (ANUBIS_RECORD_BYTES)")
        known.size_bytes += len(body)
        raw = request.scope["raw_path"].decode("latin-1")
        path = raw.partition("/record/")[2].partition("?")[0]
        query = request.scope["query_string"].decode("latin-1")
        asked = record_receiving.Request(
            method=request.method,
            target=f"{path}?{query}" if query else path,
            headers=request.headers,
            body=io.BytesIO(body),
        )
        return record_receiving.respond(installation.world.records, known.run, asked)


def _ranks(descriptor: Descriptor) -> dict[str, int]:
    """The number of ranks of every role. A launcher starts one for each process."""
    return {role.name: role.replicas * max(1, role.processes) for role in bundle_of(descriptor).roles}


def _size(installation: Installation, run: Run) -> int:
    return sum(each.size_bytes for each in installation.world.records.list(run.id, run.attempt))


async def _body(request: Request) -> bytes:
    """The body, as far as it arrives; nothing of one that is refused for its length."""
    most = MOST_APPENDED_BYTES if "offset" in request.query_params else MOST_REPLACED_BYTES
    length = request.headers.get("content-length", "")
    if not length.isdecimal() or int(length[:20]) > most:
        return b""
    data = bytearray()
    pieces = aiter(request.stream())
    try:
        while len(data) < int(length):
            data += await asyncio.wait_for(anext(pieces), PATIENCE_S)
    except (TimeoutError, ClientDisconnect, StopAsyncIteration):  # what is cut is not stored
        pass
    return bytes(data)


def _answer(response: record_receiving.Response) -> Response:
    headers = {"Connection": "close"} if response.close else None
    return Response(response.body, response.status, headers, media_type="application/json")
