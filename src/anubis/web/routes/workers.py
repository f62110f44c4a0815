"""The machines that joined the service, and the tokens with which they join."""

from fastapi import APIRouter, Response

from anubis.api.machines.joined import worker_to_json
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


@router.post("/workers/{name}/token", summary="Make the token of a worker", status_code=201)
def make_token(name: str, client: Asking) -> Response:
    """A token with which a worker of this name can join; an earlier one is no longer valid. Only its digest is stored.

    After a request without an answer, make another one.
    """
    return Answer({"name": name, "token": client.workers.make_token(name)}, 201)


@router.delete("/workers/{name}/token", summary="Revoke the token of a worker")
def revoke(name: str, client: Asking) -> Response:
    """Refuse the token from now on; what runs there is lost."""
    found = client.workers.revoke(name)
    return Answer(worker_to_json(found.worker, found.attempts))
