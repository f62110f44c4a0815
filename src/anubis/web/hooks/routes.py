"""The route of signed reports. It is a plain route: the signature is that of the bytes of the body."""

import asyncio

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from anubis.api.errors import BLANK, problem_details
from anubis.api.schedules import delivery_to_json
from anubis.contracts.service.triggers import DeliveryState, TriggerDelivery
from anubis.model.errors import AnubisError
from anubis.web.answers import Answer, ProblemAnswer
from anubis.web.hooks import starting
from anubis.web.service import service_of

#: Where the addresses of triggers begin.
PREFIX = "/api/v1/hooks/"
#: Longest time for a body, seconds.
READ_S = 30.0


async def _hook(request: Request) -> Response:
    """202 with the runs; 401, and nothing else, unless the report is signed with the secret of a trigger of this name."""
    try:
        async with asyncio.timeout(READ_S):
            body = await request.body()
    except TimeoutError:
        return _problem(408, "the body did not arrive in time")
    service, headers = service_of(request), dict(request.headers)  # names are in lower case
    installation, token = service.installation, request.query_params.get("token", "")
    name = request.path_params["name"]
    try:
        trigger = await run_in_threadpool(starting.signed_trigger, installation, name, headers, token, body)
        if trigger is None:
            return _problem(401, "the signature is not valid")
        decided = await run_in_threadpool(starting.deliver, installation, trigger, headers, body)
    except AnubisError as error:
        details = problem_details(error)
        return ProblemAnswer(details, details["status"])
    service.changes.note()
    return _answer(decided)


def _answer(decided: list[TriggerDelivery]) -> Response:
    failed = any(each.state is DeliveryState.FAILED for each in decided)
    content = {
        "runs": [run_id for each in decided for run_id in each.run_ids],
        "deliveries": list(map(delivery_to_json, decided)),
    }
    return Answer(content, 422 if failed else 202)


def _problem(status: int, message: str) -> Response:
    return ProblemAnswer({"type": BLANK, "title": message, "status": status, "detail": message}, status)


ROUTE = Route(f"{PREFIX}{{name}}", _hook, methods=["POST"])
