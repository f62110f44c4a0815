"""Space in the home folder of the service."""

from fastapi import APIRouter, Response
from pydantic import Field

from anubis.api.operations import garbage_to_json
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import Strict
from anubis.web.service import Asking

router = APIRouter(route_class=NounRoute, tags=["storage"])


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
