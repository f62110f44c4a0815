"""Answers: JSON with an entity tag, and problem details (RFC 9457)."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import zstandard
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from anubis.api.errors import BLANK, problem_details
from anubis.api.json_values import Json, finite
from anubis.model.errors import (
    AnubisError,
    BadInputError,
    NotFoundError,
    TooManyRequestsError,
    UnauthorizedError,
)
from anubis.model.problem import Problem
from anubis.web.access import pages
from anubis.web.access.decision import note_hidden

#: Shorter answers are not compressed, bytes.
LEAST_COMPRESSED = 4096
_LEVEL = 3
#: Where the pages for browsers begin.
UI = "/ui"


class Answer(Response):
    """A JSON value; numbers that JSON does not have are null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        try:
            return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
        except ValueError:  # looking at every value first takes as long as writing them
            return json.dumps(finite(content), separators=(",", ":")).encode()


class Content(Response):
    """Bytes."""

    media_type = "application/octet-stream"


class ProblemAnswer(Answer):
    """Problem details."""

    media_type = "application/problem+json"


class NounRoute(APIRoute):
    """A route that refuses unknown parameters, and whose answers to GET have an entity tag and are compressed on request."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()
        known = {param.alias for param in self.dependant.query_params}

        async def answered(request: Request) -> Response:
            if unknown := sorted(request.query_params.keys() - known):
                raise BadInputError(
                    f"{unknown[0]!r} is not a parameter of this address",
                    remedy=f"use {', '.join(sorted(known))}" if known else "remove the parameters",
                )
            response = await inner(request)
            is_tagged = request.method == "GET" and isinstance(response, Answer)
            return _encoded(request, _tagged(request, response)) if is_tagged else response

        return answered


def _tagged(request: Request, response: Response) -> Response:
    """The answer with its entity tag; 304 if the client has it."""
    digest = hashlib.blake2b(bytes(response.body), digest_size=16).hexdigest()
    is_compressed = len(response.body) >= LEAST_COMPRESSED and accepts_zstd(
        request.headers.get("Accept-Encoding", "")
    )
    tag = f'"{digest}{"-zstd" if is_compressed else ""}"'
    given = {each.strip().removeprefix("W/") for each in request.headers.get("If-None-Match", "").split(",")}
    if tag in given:
        return Response(status_code=304, headers={"ETag": tag})
    response.headers["ETag"] = tag
    return response


def _encoded(request: Request, response: Response) -> Response:
    """The answer, compressed with zstd if it is long and the client accepts that; its entity tag is then another one."""
    response.headers["Vary"] = "Accept-Encoding"
    if len(response.body) < LEAST_COMPRESSED or not accepts_zstd(request.headers.get("Accept-Encoding", "")):
        return response
    response.body = zstandard.ZstdCompressor(level=_LEVEL).compress(bytes(response.body))
    response.headers["Content-Length"] = str(len(response.body))
    response.headers["Content-Encoding"] = "zstd"
    return response


def accepts_zstd(header: str) -> bool:
    """Whether an ``Accept-Encoding`` accepts zstd. It must be named, and its quality must not be 0."""
    for part in header.lower().split(","):
        coding, *parameters = (piece.strip() for piece in part.split(";"))
        if coding == "zstd":
            return not any(re.fullmatch(r"q=0(\.0*)?", each) for each in parameters)
    return False


async def of_error(request: Request, error: Exception) -> Response:
    """Problem details of an error of ours, of a request that is not valid, of an unknown path, or of a defect."""
    if isinstance(error, RequestValidationError):
        error = BadInputError("the request is not valid", problems=tuple(map(_problem, error.errors())))
    if isinstance(error, HTTPException):
        details: Json = {
            "type": BLANK,
            "title": error.detail,
            "status": error.status_code,
            "detail": error.detail,
        }
        if is_page(request):
            return browser_page(request, details, error.headers or {})
        return ProblemAnswer(details, error.status_code, headers=error.headers)
    if isinstance(error, NotFoundError):
        await note_hidden(request)
    details = problem_details(error)
    if is_page(request):
        return browser_page(request, details, headers_of(error))
    return ProblemAnswer(details, details["status"], headers=headers_of(error))


def is_page(request: Request) -> bool:
    """Whether a browser asks for a page, so that an error must be one too."""
    path = request.url.path
    return (path == UI or path.startswith(f"{UI}/")) and "text/html" in request.headers.get("Accept", "")


def browser_page(request: Request, details: Json, headers: Mapping[str, str]) -> Response:
    """The page of an error; to sign in, if the browser has not, and then back to a page that it asked for."""
    if details["status"] != HTTPStatus.UNAUTHORIZED:
        page = pages.of_error(details["status"], details)
        page.headers.update(headers)
        return page
    is_read = request.method in {"GET", "HEAD"}
    here = f"{request.url.path}?{request.url.query}".rstrip("?") if is_read else UI
    address = f"/sign-in?{urlencode({'next': here})}"
    return RedirectResponse(address, HTTPStatus.SEE_OTHER, headers={"Cache-Control": "no-store"})


def headers_of(error: Exception) -> dict[str, str]:
    """What an answer to a request without a valid token, or with too many requests, must say."""
    if isinstance(error, UnauthorizedError):
        return {"WWW-Authenticate": 'Bearer realm="anubis"'}
    if isinstance(error, TooManyRequestsError):
        return {"Retry-After": str(math.ceil(error.again_after_s))}
    return {}


def _problem(error: Any) -> Problem:
    """The problem of one error of pydantic."""
    place, *path = error["loc"]
    return Problem(
        path=".".join(map(str, path)) or str(place),
        message=str(error["msg"]),
        remedy="see /api/v1/openapi.json",
    )


#: Errors that become problem details.
ERRORS = (AnubisError, RequestValidationError, HTTPException, Exception)


def also_200(about: str) -> dict[int | str, dict[str, Any]]:
    """For the documentation of a route that answers 201: when it answers 200 with the same form."""
    content = {"application/json": {"schema": {"type": "object"}}}
    return {200: {"description": about, "content": content}}
