"""Routes of joined workers and of the records that they ship: plain routes that hand bytes on.

They authorise themselves by the tokens of machines: a worker's token may ask for its own attempts, and the token of an
attempt may append to the record of that attempt while the attempt is open. Nothing else accepts these tokens.
"""

import json
import time
from dataclasses import replace
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from anubis import __version__
from anubis.api.errors import BLANK
from anubis.api.machines import joined as messages
from anubis.api.machines.joined import Orders, Turn, Work
from anubis.api.runs import run_details_to_json
from anubis.model.errors import BadInputError, ElsewhereError, NotFoundError
from anubis.model.launch import Handover
from anubis.model.machines import token as machine_token
from anubis.model.machines.joined import Assignment, JoinedWorker
from anubis.model.run import Seen
from anubis.pipeline.joined import handover, turns
from anubis.web.access.policy import PREFIX
from anubis.web.answers import Answer, ProblemAnswer
from anubis.web.records_shipped import Receiving
from anubis.web.service import Service

#: How often the rows are looked at while a worker waits, besides after events; seconds.
LOOK_S = 1.0
#: A turn with more bytes is refused.
MOST_TURN_BYTES = 4 << 20
_PIECE = 1 << 20


def routes() -> list[Route]:
    """The routes."""
    attempt = f"{PREFIX}/{messages.ATTEMPTS}/{{run_id}}/{{attempt:int}}"
    return [
        Route(f"{PREFIX}/{messages.TURN}", _turn, methods=["POST"]),
        Route(attempt, _work, methods=["GET"]),
        Route(f"{attempt}/script", _script, methods=["GET"]),
        *Receiving().routes(),
    ]


async def _turn(request: Request) -> Response:
    """One request of a worker; the answer comes when its attempts have changed, or late."""
    service: Service = request.app.state.service
    worker = await run_in_threadpool(_authenticated, service, request)
    if worker is None:
        return _refused()
    try:
        body = await request.body()
    except ClientDisconnect:
        return Response(status_code=408)
    turn = messages.turn_from_json(_json(body))
    begun, orders = await run_in_threadpool(_begin, service, worker, turn)
    longest_s = service.installation.settings.lease_s / 3
    until_s = time.monotonic() + min(max(turn.wait_s, 0.0), longest_s)
    while orders.tag == turn.tag and not service.changes.closed and not await request.is_disconnected():
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            break
        await service.changes.wait(min(left_s, LOOK_S))
        orders = await run_in_threadpool(_orders, service, begun)
    return Answer(messages.to_json(orders))


def _begin(service: Service, known: JoinedWorker, turn: Turn) -> tuple[JoinedWorker, Orders]:
    """Store what the worker reports, and give it its attempts."""
    installation, now_s = service.installation, service.installation.clock.now_s()
    settings, workers = installation.settings, installation.store.joined
    reported = replace(
        known,
        place=turn.place,
        host=turn.host,
        labels=turn.labels,
        engines=turn.engines,
        slots=turn.slots,
        release=turn.release,
        protocol=turn.protocol,
        facts=known.facts if turn.facts is None else turn.facts,
    )
    worker = turns.beat(workers, known, reported, now_s=now_s, lease_s=settings.lease_s)
    for name in turns.note(workers, worker, turn.reports):
        handover.remove(settings.home / handover.FOLDER, name)
    return worker, _orders(service, worker)


def _orders(service: Service, worker: JoinedWorker) -> Orders:
    installation = service.installation
    mine, tag = turns.take(installation.store.joined, worker, now_s=installation.clock.now_s())
    return Orders(
        protocol=messages.PROTOCOL,
        name=worker.name,
        release=__version__,
        lease_s=installation.settings.lease_s,
        tag=tag,
        orders=tuple(
            messages.Order(run_id=each.run_id, attempt=each.attempt, cancel=each.cancel) for each in mine
        ),
    )


async def _work(request: Request) -> Response:
    """What a worker needs to start one of its attempts. From now on the attempt may run."""
    service: Service = request.app.state.service
    worker = await run_in_threadpool(_authenticated, service, request)
    if worker is None:
        return _refused()
    work = await run_in_threadpool(_taken, service, worker, request)
    return Answer(messages.to_json(work))


def _taken(service: Service, worker: JoinedWorker, request: Request) -> Work:
    installation = service.installation
    stored = _mine(service, worker, request)
    run = installation.world.runs.get(stored.run_id)
    # Read again: it may have changed while the attempt waited for a worker.
    permits = installation.world.projects.permission(run.project).project.permits
    token = machine_token.new_token(machine_token.ATTEMPT)
    try:
        given = handover.read(installation.settings.home / handover.FOLDER, stored.name)
    except ElsewhereError:
        if stored.seen is Seen.WAITING:
            raise
        given = Handover()  # it runs, and its worker was started again
    installation.store.joined.change(replace(stored, is_taken=True, token=machine_token.digest_of(token)))
    return Work(
        protocol=messages.PROTOCOL,
        run=run_details_to_json(replace(run, attempt=stored.attempt)),
        variables=given.variables,
        secrets=given.secrets,
        permits=permits,
        token=token,
    )


async def _script(request: Request) -> Response:
    """The script archive of one of the attempts of a worker."""
    service: Service = request.app.state.service
    worker = await run_in_threadpool(_authenticated, service, request)
    if worker is None:
        return _refused()
    stream = await run_in_threadpool(_opened_script, service, worker, request)
    return StreamingResponse(stream, media_type="application/x-tar")


def _opened_script(service: Service, worker: JoinedWorker, request: Request) -> Any:
    stored = _mine(service, worker, request)
    script = service.installation.world.runs.get(stored.run_id).descriptor.ml.script
    if script is None:
        raise NotFoundError(f"run {stored.run_id} has no script")
    file = service.installation.world.objects.open(script.script)

    def pieces() -> Any:
        with file:
            while piece := file.read(_PIECE):
                yield piece

    return pieces()


def _mine(service: Service, worker: JoinedWorker, request: Request) -> Assignment:
    """The open attempt that the path names. Raises NotFoundError for one of another worker too."""
    run_id, attempt = request.path_params["run_id"], request.path_params["attempt"]
    stored = service.installation.store.joined.get_attempt(run_id, attempt)
    if stored is None or not stored.is_open or stored.worker != worker.name:
        raise NotFoundError(
            f"worker {worker.name} does not have attempt {attempt} of run {run_id}",
            remedy="the attempt has ended or was given to another worker",
        )
    return stored


def _authenticated(service: Service, request: Request) -> JoinedWorker | None:
    """The worker whose token a request has."""
    token = machine_token.bearer(request.headers.get("authorization", ""))
    if not token:
        return None
    found = service.installation.store.joined.of_token(machine_token.digest_of(token))
    return found if found and machine_token.is_token(token, found.token) else None


def _refused() -> Response:
    message = "the token of the worker is not valid, or it was revoked"
    remedy = "make a token: anubis worker token NAME"
    details = {"type": BLANK, "title": message, "status": 401, "detail": message, "remedy": remedy}
    return ProblemAnswer(details, 401, headers={"WWW-Authenticate": "Bearer"})


def _json(body: bytes) -> Any:
    if len(body) > MOST_TURN_BYTES:
        raise BadInputError(f"the message has {len(body)} bytes, and {MOST_TURN_BYTES} are accepted")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadInputError("the message is not JSON") from error
