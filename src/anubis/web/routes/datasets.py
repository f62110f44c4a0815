"""The cache of fetched datasets."""

from fastapi import APIRouter, Response
from pydantic import Field

from anubis.api.datasets import dataset_to_json
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import Strict
from anubis.web.service import Asking

router = APIRouter(route_class=NounRoute, tags=["datasets"])


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
