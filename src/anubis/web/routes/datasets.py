"""The cache of fetched datasets."""

import itertools
import os
from collections.abc import Iterator
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field
from starlette.background import BackgroundTask

from anubis.api.datasets import dataset_to_json
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import MOST_NUMBER, Strict
from anubis.web.service import Asked, Asking

router = APIRouter(route_class=NounRoute, tags=["datasets"])

_PIECE = 1 << 20


class DatasetBody(Strict):
    """One dataset."""

    ref: str = Field(description="A digest, its first digits, or an address.")


class PruneBody(Strict):
    """Which datasets are deleted."""

    before_s: float = Field(description="Those last used before this time, UTC seconds.")
    most_bytes: int | None = Field(None, ge=0, description="The least recently used above this size.")
    dry_run: bool = Field(False, description="Delete nothing.")


@router.get("/datasets", summary="List datasets, or one of them")
def find(client: Asking, ref: str | None = None) -> Response:
    """What is stored or being fetched, last used first; with ``ref`` only one dataset."""
    found = client.datasets.find() if ref is None else [client.datasets.get(ref)]
    return Answer({"datasets": [dataset_to_json(each, with_files=True) for each in found]})


@router.post("/datasets/verify", summary="Verify a dataset")
def verify(body: DatasetBody, client: Asking) -> Response:
    """Read all files of a dataset and remove those that are damaged or missing; their paths."""
    return Answer({"damaged": list(client.datasets.verify(body.ref))})


@router.post("/datasets/prune", summary="Delete datasets")
def prune(body: PruneBody, client: Asking) -> Response:
    """What was (or would be) deleted. The datasets of runs that are not final remain."""
    pruned = client.datasets.prune(before_s=body.before_s, most_bytes=body.most_bytes, dry_run=body.dry_run)
    return Answer({"datasets": [dataset_to_json(each, with_files=True) for each in pruned]})


@router.get(
    "/datasets/files/{sha256}", summary="Content of a file of a dataset", response_class=StreamingResponse
)
def content(
    sha256: str, installation: Asked, offset: Annotated[int, Query(ge=0, le=MOST_NUMBER)] = 0
) -> Response:
    """The bytes of a file from an offset, so that a broken transfer can continue. The list of datasets has the digests."""
    file = installation.world.datasets.open(sha256)
    size = os.fstat(file.fileno()).st_size
    file.seek(min(offset, size))
    return StreamingResponse(
        _pieces(file),
        media_type="application/octet-stream",
        headers={"Content-Length": str(max(0, size - offset)), "File-Size": str(size)},
        background=BackgroundTask(file.close),
    )


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    return itertools.takewhile(bool, (file.read(_PIECE) for _ in itertools.count()))
