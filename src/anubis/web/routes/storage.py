"""Space in the home folder of the service."""

import contextlib
import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse
from pydantic import Field
from starlette.background import BackgroundTask

from anubis.api.operations import expired_to_json, garbage_to_json, hold_to_json
from anubis.late import late
from anubis.store import FolderObjects
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import MOST_NUMBER, Strict
from anubis.web.service import Asked, Asking

if TYPE_CHECKING:
    from anubis.transfer.daily import archive, sending
else:  # only one request needs them
    archive = late("anubis.transfer.daily.archive")
    sending = late("anubis.transfer.daily.sending")

router = APIRouter(route_class=NounRoute, tags=["storage"])

_PIECE = 1 << 20


class SpaceBody(Strict):
    """Which files are deleted or compressed."""

    before_s: float = Field(
        description="Those last changed, or of runs that ended, before this time; UTC seconds."
    )
    dry_run: bool = Field(False, description="Change nothing.")


@router.post("/storage/collect", summary="Delete files without an owner")
def collect(body: SpaceBody, client: Asking) -> Response:
    """What was (or would be) deleted."""
    found = client.storage.collect(before_s=body.before_s, dry_run=body.dry_run)
    return Answer({"files": list(map(garbage_to_json, found))})


@router.post("/storage/pack", summary="Compress records")
def pack(body: SpaceBody, client: Asking) -> Response:
    """The bytes freed of each record (or, dry, its size)."""
    found = client.storage.pack(before_s=body.before_s, dry_run=body.dry_run)
    return Answer({"files": list(map(garbage_to_json, found))})


class HoldBody(Strict):
    """Runs that are held."""

    runs: list[str] = Field(description="References.")
    why: str = Field(description="The reason.")


class ReleaseBody(Strict):
    """Runs whose hold ends."""

    runs: list[str] = Field(description="References.")


class ExpireBody(Strict):
    """How the retention rules are applied."""

    dry_run: bool = Field(False, description="Delete nothing.")


@router.post("/holds", summary="Hold runs")
def hold(body: HoldBody, client: Asking) -> Response:
    """No command and no rule deletes them until the hold ends."""
    return Answer({"holds": list(map(hold_to_json, client.storage.hold(body.runs, why=body.why)))})


@router.get("/holds", summary="List held runs")
def holds(client: Asking) -> Response:
    """The oldest hold first."""
    return Answer({"holds": list(map(hold_to_json, client.storage.holds()))})


@router.post("/holds/release", summary="End holds")
def release(body: ReleaseBody, client: Asking) -> Response:
    """The ids of the runs that were held."""
    return Answer({"released": list(client.storage.release(body.runs))})


@router.post("/storage/expire", summary="Apply the retention rules")
def expire(body: ExpireBody, client: Asking) -> Response:
    """What was (or would be) deleted."""
    found = client.storage.expire(dry_run=body.dry_run)
    return Answer({"expired": list(map(expired_to_json, found))})


class ArchiveBody(Strict):
    """What an archive of daily data sets has already."""

    through_seq: int = Field(0, ge=0, le=MOST_NUMBER, description="``through_seq`` of its index.")
    open_days: list[str] = Field([], max_length=10_000, description="``open_days`` of its index.")
    through: dict[str, int] = Field({}, description="Day -> ``through_seq`` of its manifest.")
    today: bool = Field(False, description="Also the day that has not ended.")


@router.post("/storage/archive", summary="New parts of daily data sets", response_class=StreamingResponse)
def new_parts(body: ArchiveBody, installation: Asked) -> Response:
    """A tar archive with the Parquet files, the manifests and the index that an archive does not have yet.

    Nothing is stored in the service, so the request may be repeated. Each manifest has only the new files.
    """
    index = archive.Index(
        through_seq=body.through_seq, days=sorted(body.through), open_days=list(body.open_days)
    )
    known = sending.Known(index=index, through=body.through)
    with contextlib.ExitStack() as opened:
        file = opened.enter_context(tempfile.TemporaryFile(prefix="anubis-"))
        with tempfile.TemporaryDirectory(prefix="anubis-") as made:
            folder = Path(made)
            sending.write(installation.world, known, file, FolderObjects(folder), folder, today=body.today)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        opened.pop_all()
    return StreamingResponse(
        _pieces(file),
        media_type="application/x-tar",
        headers={"Content-Length": str(size)},
        background=BackgroundTask(file.close),
    )


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    return itertools.takewhile(bool, (file.read(_PIECE) for _ in itertools.count()))
