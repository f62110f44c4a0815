"""The machines that joined the service."""

from fastapi import APIRouter, Response

from anubis.api.joined import worker_to_json
from anubis.web.answers import Answer, NounRoute
from anubis.web.service import Asking

router = APIRouter(route_class=NounRoute, tags=["workers"])


@router.get("/workers", summary="List joined workers")
def workers(client: Asking) -> Response:
    """The machines that joined as places to run, and what runs there."""
    return Answer({"workers": [worker_to_json(each.worker, each.attempts) for each in client.workers.find()]})


@router.get("/workers/{name}", summary="One joined worker")
def worker(name: str, client: Asking) -> Response:
    """Its slots, labels and facts, when it was last seen, and what runs there."""
    found = client.workers.get(name)
    return Answer(worker_to_json(found.worker, found.attempts))
