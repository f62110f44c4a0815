"""The Model Context Protocol over HTTP, at ``/mcp``: every tool has the rights of the token of the request.

No session is kept, and described submissions wait in the home folder, so every request can reach another service of the
same installation.
"""

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from anubis.client import Client
from anubis.late import late
from anubis.model.errors import PlugInError
from anubis.web import descriptors
from anubis.web.access.decision import further
from anubis.web.service import service_of, used_by

if TYPE_CHECKING:
    from anubis.mcp import descriptions, server
else:  # the package mcp is an extra
    descriptions = late("anubis.mcp.descriptions")
    server = late("anubis.mcp.server")

PATH = "/mcp"
#: Folder of described submissions, in the home folder.
FOLDER = "descriptions"
#: Routes whose rights the tools need.
_READING, _SUBMITTING = "GET /runs", "POST /runs"

router = APIRouter()


class RequestCaller:
    """The ``Caller`` (see ``anubis.mcp.callers``) who sent a request. Its methods may be called in any thread."""

    def __init__(self, request: Request) -> None:
        self._request = request

    @property
    def name(self) -> str:
        return used_by(self._request, further(self._request, _READING)).settings.client_id or ""

    def reader(self) -> Client:
        return self._client(_READING)

    def submitter(self) -> Client:
        return self._client(_SUBMITTING)

    def check(self, text: str, name: str) -> None:
        """The files that a descriptor extends would be files of the machine of the service."""
        descriptors.check_alone(text, name)

    def submitted(self) -> None:
        service_of(self._request).wrote()

    def _client(self, route: str) -> Client:
        installation = used_by(self._request, further(self._request, route))
        return Client("anubis.client.embedded", installation)


class _Conversation(Response):
    """The answer of the server of the SDK, which reads the request itself."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self._request = request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        installation = service_of(self._request).installation
        await server.answer(
            scope,
            receive,
            send,
            caller=RequestCaller(self._request),
            descriptions=descriptions.FolderDescriptions(installation.settings.home / FOLDER),
            clock=installation.clock,
        )


@router.post(PATH, include_in_schema=False)
async def converse(request: Request) -> Response:
    """Answer one message of an assistant."""
    try:
        found = server.answer
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise PlugInError(
            "the service needs the package mcp for assistants, which is not installed",
            remedy="pip install 'anubis-bench[mcp]' on the machine of the service",
        ) from error
    assert found is not None
    return _Conversation(request)
