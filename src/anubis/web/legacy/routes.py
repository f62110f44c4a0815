"""The routes of the old system, with its answers."""

import contextlib
import itertools
import json
from collections.abc import Callable, Coroutine, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from anubis.api.errors import problem_details
from anubis.api.json_values import Json
from anubis.client import Client
from anubis.model.errors import AnubisError, BadInputError
from anubis.web.access.decision import Decided
from anubis.web.answers import Answer, headers_of
from anubis.web.legacy import scripts, submit_event, submitting, upgrading
from anubis.web.legacy.actions import Actions
from anubis.web.legacy.statuses import VERSION, Cursor
from anubis.web.service import Asked, service_of

#: Commands that a client may send to an action.
COMMANDS = {"cancel"}
#: Largest command event.
_MOST_COMMAND_BYTES = 1 << 20
_LINES = 500
_EVERY_METHOD = ["GET", "POST", "PUT", "PATCH", "DELETE"]


class OldRoute(APIRoute):
    """A route whose answers name the version, and whose errors are texts."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                response = await inner(request)
            except AnubisError as error:
                response = PlainTextResponse(
                    f"{error}\n", problem_details(error)["status"], headers=headers_of(error)
                )
            response.headers["X-Service-Version"] = VERSION
            return response

        return answered


router = APIRouter(route_class=OldRoute, include_in_schema=False)


async def _actions(request: Request, client_id: str, installation: Asked, allowed: Decided) -> Actions:
    submit_event.checked_client(client_id)
    known = submitting.as_client(installation, client_id, allowed)
    client = Client("anubis.client.embedded", known)
    return Actions(client, client_id, known.settings.client_id, str(request.base_url).rstrip("/"))


#: Parameter of a route: the actions of the client that the path names.
OfClient = Annotated[Actions, Depends(_actions)]


async def _cursor(since: str = "") -> Cursor:
    cursor = Cursor.read(since) if since else Cursor()
    if cursor is None:
        raise BadInputError(f"{since[:100]!r} is not a time in ms", remedy="use since=MS or since=MS:ID")
    return cursor


#: Parameter of a route: the place after which an answer begins.
Since = Annotated[Cursor, Depends(_cursor)]


@router.get("/")
@router.get("/api")
async def banner() -> Response:
    return HTMLResponse(upgrading.BANNER)


@router.get("/ready")
@router.get("/lively")
async def alive(request: Request) -> Response:
    return PlainTextResponse(f"sure am {request.url.path[1:]}")


@router.get("/api/tools/anubis")
async def client_script() -> Response:
    return PlainTextResponse(upgrading.CLIENT, media_type="text/x-shellscript")


@router.get("/api/job/script/{filename}")
def has_script(filename: str, installation: Asked) -> Response:
    return PlainTextResponse(str(scripts.stored(installation.world.objects, filename) is not None).lower())


@router.post("/api/job/descriptor")
async def submit(request: Request, installation: Asked, allowed: Decided) -> Response:
    content, upload = await submit_event.form_of(request.headers, request.stream())
    with contextlib.ExitStack() as opened:
        if upload:
            opened.callback(upload.file.close)
        event = submit_event.read(content)
        script = await run_in_threadpool(submit_event.script_of, upload) if upload else None
        if script:
            opened.callback(script.file.close)
        action_id = await run_in_threadpool(submitting.submit, installation, event, script, allowed)
    service_of(request).wrote()
    return PlainTextResponse(action_id)


@router.get("/api/job/results/{client_id}/{action_id}")  # noqa: FAST003  used by the dependency
def results(action_id: str, actions: OfClient) -> Response:
    return StreamingResponse(_array(actions.log(action_id)), media_type="application/json")


def _array(values: Iterator[Json]) -> Iterator[str]:
    """A JSON array, some elements at once."""
    before = "["
    while some := list(itertools.islice(values, _LINES)):
        yield before + ",".join(map(json.dumps, some))
        before = ","
    yield "]" if before == "," else "[]"


@router.get("/api/job/{client_id}")  # noqa: FAST003
def listed(actions: OfClient, since: Since) -> Response:
    return Answer({"action_ids": actions.listed(since)})


@router.get("/api/job/{client_id}/{action_id}")  # noqa: FAST003
def statuses(action_id: str, actions: OfClient, since: Since) -> Response:
    return Answer(actions.statuses(action_id, since))


@router.delete("/api/job/{client_id}/{action_id}")  # noqa: FAST003
async def command(request: Request, action_id: str, actions: OfClient) -> Response:
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > _MOST_COMMAND_BYTES:
            raise BadInputError("the command is too large", remedy="send a command event")
    cascade = submit_event.cancel_of(bytes(content), action_id, COMMANDS)
    command_id = await run_in_threadpool(actions.cancel, action_id, cascade=cascade)
    service_of(request).wrote()
    return PlainTextResponse(command_id)


@router.post("/api/job/")
@router.delete("/api/job/{client_id}")
async def stub() -> Response:
    return PlainTextResponse("this was never available\n", 501)


@router.api_route("/api/tools/{rest:path}", methods=_EVERY_METHOD)
@router.api_route("/api/job/{rest:path}", methods=_EVERY_METHOD)
async def nothing() -> Response:
    return HTMLResponse("<!doctype html><title>404</title><h1>404 Not Found</h1>\n", 404)
