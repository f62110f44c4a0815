"""The records of runs: their files, logs, archives and script archives."""

import contextlib
import hashlib
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as Place
from fastapi.responses import StreamingResponse
from pydantic import Field
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from anubis.api.runs import run_details_to_json
from anubis.client.protocol.runs import Records
from anubis.contracts.records import RecordKey
from anubis.model.errors import BadInputError
from anubis.sealing.chain import BrokenChainError, Head
from anubis.web.answers import Answer, Content, NounRoute
from anubis.web.descriptors import ARCHIVE, MOST_NUMBER, Strict
from anubis.web.service import Asked, Asking

router = APIRouter(route_class=NounRoute, tags=["records"])

#: Most bytes of a file in one answer.
MOST_BYTES = 8 << 20
#: Largest attempt and rank.
MOST_REPLICAS = 1_000_000
_PIECE = 1 << 20


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


@router.get(
    "/runs/{ref}/record/{attempt}/{role}/{rank}/{file:path}",
    summary="Bytes of a file of a record",
    response_class=Content,
)
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
    return Content(data, headers=headers)


@router.post("/runs/{ref}/extraction", summary="Read the samples from the record again")
def extract(ref: str, client: Asking) -> Response:
    """Replace the stored samples of a final run by those of its record; the names of its metrics."""
    return Answer({"metrics": client.records.extract(ref)})


@router.post("/runs/{ref}/index", summary="Index the output of a run again")
def index(ref: str, client: Asking) -> Response:
    """Index the output of a final run for searches; the number of its bytes. The service does this when a run ends."""
    return Answer({"bytes": client.records.index(ref)})


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
        await saved(request, file)
        run = await run_in_threadpool(client.records.bring_in, file)
    return Answer(run_details_to_json(run), 201)


@router.put("/scripts/{key}", summary="Store a script archive", status_code=201)
async def store_script(key: str, request: Request, installation: Asked) -> Response:
    """The body is a tar archive, and the key its SHA-256 in hexadecimal digits with ``.tar``."""
    with tempfile.TemporaryDirectory(prefix="anubis-") as folder:
        file = Path(folder) / "script"
        digest = await saved(request, file)
        if not ARCHIVE.fullmatch(key) or key != f"{digest}.tar":
            raise BadInputError(
                f"the archive has the SHA-256 {digest}, not that of its key", remedy="use the key DIGEST.tar"
            )
        await run_in_threadpool(_put, installation, key, file)
    return Answer({"key": key}, 201)


def _put(installation: Asked, key: str, file: Path) -> None:
    with file.open("rb") as stream:
        installation.world.objects.put(key, stream)


async def saved(request: Request, file: Path) -> str:
    """Write the body of a request to a file; the SHA-256 of its bytes."""
    digest = hashlib.sha256()
    with file.open("wb") as out:
        async for piece in request.stream():
            digest.update(piece)
            await run_in_threadpool(out.write, piece)
    return digest.hexdigest()


class ComparisonBody(Strict):
    """A comparison of the chain with what is stored."""

    head: str | None = Field(None, description="NUMBER:SHA256, a head of the chain that was noted earlier.")


@router.post("/seals/comparison", summary="Compare the chain of this installation with what is stored")
def compare_chain(body: ComparisonBody, client: Asking) -> Response:
    """Every run of the chain, compared with its record and its values. ``broken`` says how the chain itself was changed."""
    try:
        known = None if body.head is None else Head.of(body.head)
    except ValueError as error:
        raise BadInputError(str(error), remedy="use the head that anubis record verify printed") from error
    try:
        report = client.records.compare_chain(known=known)
    except BrokenChainError as error:
        return Answer({"broken": error.message})
    return Answer(
        {
            "broken": None,
            "head": str(report.head),
            "unchanged": report.unchanged,
            "purged": report.purged,
            "damaged": [{"run_id": each.run_id, "changed": list(each.changed)} for each in report.damaged],
            "unsealed": list(report.unsealed),
        }
    )


@router.post("/seals", summary="Add runs to the chain of this installation")
def seal(client: Asking) -> Response:
    """Add the final runs that the chain does not contain; their ids."""
    return Answer({"ids": client.records.seal()})
