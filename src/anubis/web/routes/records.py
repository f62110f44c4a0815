"""The records of runs: their files, logs, archives and script archives."""

import contextlib
import hashlib
import itertools
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as Place
from fastapi.responses import StreamingResponse
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from anubis.api.runs import run_details_to_json
from anubis.client import Client
from anubis.client.protocol.runs import Records
from anubis.contracts.records import RecordKey
from anubis.model.errors import BadInputError
from anubis.model.run import Run
from anubis.record.layout import BENCHMARK, FIRST_RANK, STDERR, STDOUT
from anubis.record.log_stream import LogStream
from anubis.web import streams
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import ARCHIVE, MOST_NUMBER
from anubis.web.service import Asked, Asking, service_of

router = APIRouter(route_class=NounRoute, tags=["records"])

#: Most bytes of a file in one answer.
MOST_BYTES = 8 << 20
#: How often the record of a running benchmark is looked at while its output is followed, seconds.
LOOK_EVERY_S = 0.25
#: Largest attempt and rank.
MOST_REPLICAS = 1_000_000
_PIECE = 1 << 20
#: Lines of a log that are read at once.
_BATCH = 1000
#: Most lines of one answer.
MOST_LINES = 10_000


@router.get("/runs/{ref}/record", summary="Files of a record")
def files(
    ref: str,
    client: Asking,
    installation: Asked,
    attempt: Annotated[int | None, Query(ge=1, le=MOST_REPLICAS)] = None,
) -> Response:
    """The files of one attempt, by default the current one. ``stored``: whether it has a record."""
    run = client.runs.get(ref)
    number = attempt or run.attempt
    listed = installation.world.records.list(run.id, number)
    is_current = number == run.attempt
    return Answer(
        {
            "run_id": run.id,
            "attempt": number,
            "stored": bool(listed) and (not is_current or client.records.has(run)),
            "files": [
                {
                    "role": each.key.role,
                    "rank": each.key.rank,
                    "file": each.file,
                    "size_bytes": each.size_bytes,
                    "modified_s": each.modified_s,
                }
                for each in listed
            ],
        }
    )


@router.get("/runs/{ref}/record/{attempt}/{role}/{rank}/{file:path}", summary="Bytes of a file of a record")
def content(
    *,
    ref: str,
    attempt: Annotated[int, Place(ge=1, le=MOST_REPLICAS)],
    role: str,
    rank: Annotated[int, Place(ge=0, le=MOST_REPLICAS)],
    file: str,
    client: Asking,
    installation: Asked,
    offset: Annotated[int, Query(ge=0, le=MOST_NUMBER)] = 0,
    length: Annotated[int, Query(ge=0, le=MOST_BYTES)] = MOST_BYTES,
) -> Response:
    """Bytes from an offset: fewer than asked for at the end of the file, none where there is no file.

    The headers File-Size and File-Modified (UTC seconds) are absent where there is no file.
    """
    key = RecordKey(client.runs.get(ref).id, attempt, role, rank)
    records = installation.world.records
    try:
        state = records.state(key, file)
        data = records.read(key, file, offset, length) if state and length else b""
    except ValueError as error:
        raise BadInputError(
            str(error), remedy="use a name from the list of the files of the record"
        ) from error
    headers = {"File-Size": str(state.size_bytes), "File-Modified": repr(state.modified_s)} if state else {}
    return Response(data, media_type="application/octet-stream", headers=headers)


@router.get("/runs/{ref}/logs", summary="Output of a benchmark")
def logs(
    *,
    ref: str,
    request: Request,
    client: Asking,
    stream: Annotated[list[str], Query(description="stdout, stderr; both by default.")] = [STDOUT, STDERR],  # noqa: B006
    role: str = BENCHMARK,
    rank: Annotated[int, Query(ge=0, le=MOST_REPLICAS)] = FIRST_RANK,
    after: Annotated[int, Query(ge=0, le=MOST_NUMBER, description="Number of lines that are known.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_LINES)] = MOST_LINES,
) -> Response:
    """The lines of the current attempt in the order of arrival, as one page of a JSON list; or, with the header Accept:
    text/event-stream, as events that follow a running benchmark to its end. The id of an event is the attempt and the number
    of lines: with it in the header Last-Event-ID, the stream continues after that line.
    """
    if unknown := set(stream) - {STDOUT, STDERR}:
        raise BadInputError(f"{min(unknown)!r} is not a stream", remedy="use stdout or stderr")
    run = client.runs.get(ref)
    if streams.is_wanted(request):
        attempt, seen = _place(streams.resumed_at(request))
        skipped = seen if attempt == run.attempt else 0
        return streams.answer(request, _followed(request, client, run, (tuple(stream), role, rank), skipped))
    lines = LogStream(client.records.files(run, role, rank), stream).lines(last=True)
    page = list(itertools.islice(lines, after, after + limit))
    return Answer(
        {"attempt": run.attempt, "lines": [_line(*each) for each in page], "after": after + len(page)}
    )


def _place(last_id: str | None) -> tuple[int, int]:
    """Attempt and number of lines of the last event that the client got."""
    attempt, _, seen = (last_id or "0.0").partition(".")
    if not (attempt.isdecimal() and seen.isdecimal() and len(last_id or "") < 30):
        raise BadInputError(
            f"{last_id!r} is not the id of a line", remedy="use the id of an event of this stream"
        )
    return int(attempt), int(seen)


def _line(time_ns: int, stream: str, line: bytes) -> dict[str, object]:
    return {"time_s": time_ns / 1e9, "stream": stream, "line": line.decode("utf-8", "replace")}


async def _followed(
    request: Request, client: Client, run: Run, wanted: tuple[tuple[str, ...], str, int], seen: int
) -> AsyncIterator[str]:
    """The lines after the first ``seen`` ones until the run is final, also those of later attempts."""
    (names, role, rank), changes = wanted, service_of(request).changes
    source, sent = LogStream(client.records.files(run, role, rank), names), 0
    waited_s = 0.0
    while not changes.closed:
        current = await run_in_threadpool(client.runs.get, run.id)
        over = current.status.final or current.attempt != run.attempt
        lines = source.lines(last=over)
        while batch := await run_in_threadpool(_some, lines):
            for line in batch:
                sent += 1
                if sent > seen:
                    yield streams.event(f"{run.attempt}.{sent}", "line", _line(*line))
                    waited_s = 0.0
        if current.attempt != run.attempt:
            run, sent, seen = current, 0, 0
            source = LogStream(client.records.files(run, role, rank), names)
            continue
        if over:
            yield streams.event(f"{run.attempt}.{sent}", "end", {"status": current.status.value})
            return
        await changes.wait(LOOK_EVERY_S)
        waited_s += LOOK_EVERY_S
        if waited_s >= streams.ALIVE_EVERY_S:
            waited_s = 0.0
            yield streams.ALIVE


def _some(lines: Iterator[tuple[int, str, bytes]]) -> list[tuple[int, str, bytes]]:
    return list(itertools.islice(lines, _BATCH))


@router.post("/runs/{ref}/extraction", summary="Read the samples from the record again")
def extract(ref: str, client: Asking) -> Response:
    """Replace the stored samples of a final run by those of its record; the names of its metrics."""
    return Answer({"metrics": client.records.extract(ref)})


@router.get("/runs/{ref}/archive", summary="Archive of a run", response_class=StreamingResponse)
def export(ref: str, client: Asking) -> Response:
    """A final run with its record, rows and script as one archive."""
    run_id, file = _archive(client.records, ref)
    return StreamingResponse(
        _pieces(file),
        media_type="application/zstd",
        headers={"Run-Id": run_id},
        background=BackgroundTask(file.close),
    )


def _archive(records: Records, ref: str) -> "tuple[str, tempfile.SpooledTemporaryFile[bytes]]":
    with contextlib.ExitStack() as opened:
        file = opened.enter_context(tempfile.SpooledTemporaryFile(_PIECE))
        run = records.export(ref, file)  # type: ignore[arg-type]  # a binary file
        file.seek(0)
        opened.pop_all()
        return run.id, file


def _pieces(file: "tempfile.SpooledTemporaryFile[bytes]") -> Iterator[bytes]:
    return itertools.takewhile(bool, (file.read(_PIECE) for _ in itertools.count()))


@router.post("/archives", summary="Store the run of an archive", status_code=201)
async def bring_in(request: Request, client: Asking) -> Response:
    """The body is an archive; its run is stored completely or not at all."""
    with tempfile.TemporaryDirectory(prefix="anubis-") as folder:
        file = Path(folder) / "archive"
        await _saved(request, file)
        run = await run_in_threadpool(client.records.bring_in, file)
    return Answer(run_details_to_json(run), 201)


@router.put("/scripts/{key}", summary="Store a script archive", status_code=201)
async def store_script(key: str, request: Request, installation: Asked) -> Response:
    """The body is a tar archive, and the key its SHA-256 in hexadecimal digits with ``.tar``."""
    with tempfile.TemporaryDirectory(prefix="anubis-") as folder:
        file = Path(folder) / "script"
        digest = await _saved(request, file)
        if not ARCHIVE.fullmatch(key) or key != f"{digest}.tar":
            raise BadInputError(
                f"the archive has the SHA-256 {digest}, not that of its key", remedy="use the key DIGEST.tar"
            )
        await run_in_threadpool(_put, installation, key, file)
    return Answer({"key": key}, 201)


def _put(installation: Asked, key: str, file: Path) -> None:
    with file.open("rb") as stream:
        installation.world.objects.put(key, stream)


async def _saved(request: Request, file: Path) -> str:
    """Write the body of a request to a file; the SHA-256 of its bytes."""
    digest = hashlib.sha256()
    with file.open("wb") as out:
        async for piece in request.stream():
            digest.update(piece)
            await run_in_threadpool(out.write, piece)
    return digest.hexdigest()


@router.post("/seals", summary="Add runs to the chain of this installation")
def seal(client: Asking) -> Response:
    """Add the final runs that the chain does not contain; their ids."""
    return Answer({"ids": client.records.seal()})
