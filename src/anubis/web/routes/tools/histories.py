"""Histories of other tools: import of their values."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import zstandard
from fastapi import APIRouter, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.model.problem import Severity
from anubis.web.answers import Answer, NounRoute, also_200
from anubis.web.routes.records import saved
from anubis.web.service import Asking, service_of

if TYPE_CHECKING:
    from anubis.api import histories as api_histories
    from anubis.client import Client
    from anubis.transfer import decompression, histories
else:  # only some requests need them
    api_histories = late("anubis.api.histories")
    decompression = late("anubis.transfer.decompression")
    histories = late("anubis.transfer.histories")

router = APIRouter(route_class=NounRoute, tags=["histories"])

#: Most bytes of the values after decompression.
MOST_BYTES = 1 << 30
_PIECE = 1 << 20


@router.post(
    "/histories",
    summary="Import values of another tool",
    status_code=201,
    responses=also_200("Nothing is stored."),
)
async def import_values(
    request: Request,
    client: Asking,
    *,
    format: Annotated[Literal["jsonl", "csv"], Query(description="Format of the body.")] = "jsonl",  # noqa: A002  the name of the parameter
    dry_run: Annotated[bool, Query(description="Store nothing; report all problems.")] = False,
    partial: Annotated[bool, Query(description="Despite errors, store the other values.")] = False,
    content_encoding: Annotated[Literal["identity", "zstd"], Header()] = "identity",
) -> Response:
    """The body has one value in each row, in the form of ``anubis export``. Nothing is stored if a row has an error.

    A row that is stored already is not stored again, so the request may be repeated. ``Content-Encoding: zstd`` is
    accepted. For files of other tools use ``anubis import``, which reads them and sends their values.
    """
    with tempfile.TemporaryDirectory(prefix="anubis-") as folder:
        file = Path(folder) / f"history.{format}"
        await saved(request, file)
        if content_encoding == "zstd":
            file = await run_in_threadpool(_decompressed, file)
        answer = await run_in_threadpool(_imported, client, file, format, dry_run=dry_run, partial=partial)
    if not dry_run:
        service_of(request).wrote()
    return Answer(answer, 200 if dry_run else 201)


def _decompressed(file: Path) -> Path:
    target = file.with_name(f"decompressed{file.suffix}")
    try:
        with file.open("rb") as source, target.open("wb") as out:
            content = decompression.Decompressed(source, MOST_BYTES)
            while piece := content.read(_PIECE):
                out.write(piece)
    except (ValueError, zstandard.ZstdError) as error:
        raise BadInputError(
            f"the body is not valid zstd: {error}", remedy="compress it again, as one frame"
        ) from error
    return target


def _imported(client: "Client", file: Path, name: str, *, dry_run: bool, partial: bool) -> object:
    read = client.histories.read([str(file)], format_name=name)
    problems = tuple(replace(each, file="") for each in read.problems)
    imported = replace(read, problems=problems, formats={"body": name})
    if imported.refused and not (dry_run or partial):
        wrong = [each for each in problems if each.severity is Severity.ERROR]
        raise BadInputError(
            f"nothing was stored: the history has {len(wrong)} problems",
            remedy="correct them, or store the other values with partial=true",
            problems=wrong,
        )
    added = None if dry_run else client.histories.store(imported)
    return api_histories.imported_to_json(imported, added)
