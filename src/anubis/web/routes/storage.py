"""Space in the home folder of the service."""

from fastapi import APIRouter, Response
from pydantic import Field

from anubis.api.operations import expired_to_json, garbage_to_json, hold_to_json
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
