"""Receives the records that joined workers ship (docs/reference/record-replication.md).

A request is authorised by the token of one attempt, and only as long as that attempt is open. It can append to the record
of that attempt, for the roles and ranks that its descriptor has, up to a limit, and nothing else.
"""

import asyncio
import io
import itertools
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from anubis.contracts.records import Append, Records
from anubis.model.descriptor import Descriptor
from anubis.model.errors import AnubisError
from anubis.model.machines import token as machine_token
from anubis.model.run import Run
from anubis.record.replication import MOST_REPLACED_BYTES
from anubis.submission.bundle import bundle_of
from anubis.transfer import record_receiving
from anubis.transfer.record_receiving import refusal
from anubis.web.access.policy import PREFIX
from anubis.web.service import Service
from anubis.wiring import Installation

#: A sender that sends nothing for so long within a body is gone, seconds.
PATIENCE_S = 60.0
#: Most attempts whose descriptor and size are remembered.
_MOST_KNOWN = 10_000
#: Most appends that are written together: their files are open at the same time.
_MOST_IN_GROUP = 256
_RANK = re.compile(r"0|[1-9][0-9]{0,9}")


@dataclass(slots=True)
class _Known:
    """An attempt whose record is received."""

    run: Run
    #: Role -> number of its ranks.
    ranks: dict[str, int]
    #: Upper bound of the bytes of its record.
    size_bytes: int = 0

    def has(self, request: Request) -> bool:
        """Whether the role and the rank of a request exist."""
        role, rank = request.path_params["role"], request.path_params["rank"]
        return bool(_RANK.fullmatch(rank)) and int(rank) < self.ranks.get(role, 0)


_Work = Sequence[Append] | Callable[[], Any]


class _Groups:
    """What requests need from the disk and the database, done together in one thread. Used in the event loop.

    While a group is synced to the disk, the next one gathers: with a thousand senders, no request needs a separate thread.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[_Work, asyncio.Future[Any]]] = deque()
        self._working: asyncio.Task[None] | None = None

    async def do(self, records: Records, work: _Work) -> Any:
        """The sizes after some appends, or the result of a call."""
        result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, result))
        if self._working is None:
            self._working = asyncio.create_task(self._work(records))
        return await result

    async def _work(self, records: Records) -> None:
        try:
            while self._waiting:
                group = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST_IN_GROUP))]
                found = await run_in_threadpool(_done, records, [work for work, _ in group])
                for (_, waiting), result in zip(group, found, strict=True):
                    if waiting.done():  # its request was cancelled
                        continue
                    if isinstance(result, Exception):
                        waiting.set_exception(result)
                    else:
                        waiting.set_result(result)
        finally:
            self._working = None


def _done(records: Records, group: Sequence[_Work]) -> list[Any]:
    """The result of each, or its error."""
    flat = [append for work in group if not callable(work) for append in work]
    try:
        sizes: Iterator[Any] = iter(records.append_all(flat) if flat else ())
    except Exception as error:  # noqa: BLE001  each request gets it
        sizes = itertools.repeat(error)
    return [_called(work) if callable(work) else list(itertools.islice(sizes, len(work))) for work in group]


def _called(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:  # noqa: BLE001  the request gets it
        return error


class Receiving:
    """The routes, with what they remember of attempts: never whether they are open. Threads may share it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], _Known] = {}
        self._groups = _Groups()

    def routes(self) -> list[Route]:
        record = f"{PREFIX}/runs/{{run_id}}/record/{{attempt:int}}/{{role}}/{{rank}}"
        return [
            Route(record, self._receive, methods=["GET", "POST"]),
            Route(f"{record}/{{file}}", self._receive, methods=["PUT"]),
        ]

    async def _receive(self, request: Request) -> Response:
        service: Service = request.app.state.service
        installation = service.installation
        records = installation.world.records
        try:
            known = await self._groups.do(records, partial(self._authorised, installation, request))
            if isinstance(known, record_receiving.Response):
                return _answer(known)
            body = await _body(request)
            asked = _asked(request, body)
            if refused := await _too_large(installation, known, len(body)):
                return _answer(refused)
            known.size_bytes += len(body)
            appends = record_receiving.appends_of(known.run, asked)
            if isinstance(appends, record_receiving.Response):
                return _answer(appends)
            if appends is None:
                return _answer(await run_in_threadpool(record_receiving.respond, records, known.run, asked))
            sizes = await self._groups.do(records, appends) if appends else []
            return _answer(record_receiving.appended(request.method, appends, sizes))
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
            return refusal(401, "the token is not valid for the record of this attempt")
        known = self._known.get((run_id, attempt))
        if known is None:
            run = replace(installation.world.runs.get(run_id), attempt=attempt)
            known = _Known(run, _ranks(run.descriptor))
            _look_up_size(installation, known)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[run_id, attempt] = known
        if not known.has(request):
            role, rank = request.path_params["role"], request.path_params["rank"]
            return refusal(404, f"the run has no role {role!r} with rank {rank}")
        return known


async def _too_large(
    installation: Installation, known: _Known, length: int
) -> record_receiving.Response | None:
    """The refusal of a body of this length, if the record would become too large."""
    most = installation.settings.record_bytes
    if known.size_bytes + length <= most:
        return None
    await run_in_threadpool(_look_up_size, installation, known)  # bytes that were sent again count once
    if known.size_bytes + length <= most:
        return None
    return refusal(413, f"the record of an attempt may have {most} bytes (ANUBIS_RECORD_BYTES)")


def _asked(request: Request, body: bytes) -> record_receiving.Request:
    path = request.scope["raw_path"].decode("latin-1").partition("/record/")[2].partition("?")[0]
    query = request.scope["query_string"].decode("latin-1")
    return record_receiving.Request(
        method=request.method,
        target=f"{path}?{query}" if query else path,
        headers=request.headers,
        body=io.BytesIO(body),
    )


def _ranks(descriptor: Descriptor) -> dict[str, int]:
    """The number of ranks of every role. A launcher starts one for each process."""
    return {role.name: role.replicas * max(1, role.processes) for role in bundle_of(descriptor).roles}


def _look_up_size(installation: Installation, known: _Known) -> None:
    listed = installation.world.records.list(known.run.id, known.run.attempt)
    known.size_bytes = sum(each.size_bytes for each in listed)


async def _body(request: Request) -> bytes:
    """The body, as far as it arrives; nothing of one that is refused for its length."""
    is_append = request.method == "POST" or "offset" in request.query_params
    most = record_receiving.MOST_BYTES if is_append else MOST_REPLACED_BYTES
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
