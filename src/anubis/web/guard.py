"""Refuses requests before they reach a route: of other users, of pages of other sites, and with too large bodies."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool

from anubis.api.errors import BLANK
from anubis.record.replication import MOST_REPLACED_BYTES
from anubis.web import connections
from anubis.web.access.login import Login
from anubis.web.access.peers import Peers
from anubis.web.answers import ProblemAnswer

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: Largest body of a request, except of archives, which are not read into memory.
MOST_BYTES = 16 << 20
#: Paths of the routes that stream archives to the disk, and the largest of these bodies.
ARCHIVES, MOST_ARCHIVE_BYTES = ("/api/v1/scripts/", "/api/v1/archives"), 64 << 30
#: Path of imported histories, which are not read into memory, and the largest of these bodies.
HISTORIES, MOST_HISTORY_BYTES = "/api/v1/histories", 256 << 20
#: Path of submissions by old clients, whose script archives are not read into memory, and the largest of these bodies.
OLD_SUBMISSIONS, MOST_SUBMISSION_BYTES = "/api/job/descriptor", 3 << 30
#: Path that answers also while the database does not.
HEALTH = "/healthz"
#: In the paths of the routes that receive records, whose replaced files have a separate limit.
RECORD = "/record/"
#: Paths of signed reports, which proxies forward from other machines, and the largest of these bodies.
HOOKS, MOST_HOOK_BYTES = "/api/v1/hooks/", 8 << 20
#: Names under which this machine alone reaches the service.
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Guard:
    """ASGI middleware.

    A page of another site can make a browser on this machine send requests to loopback addresses, under the host
    name of that site if it controls the name server ("DNS rebinding"). Such requests have that name in ``Host``, or the
    site in ``Origin``.
    """

    def __init__(
        self, app: Callable[[Scope, Receive, Send], Awaitable[None]], peers: Peers, login: Login
    ) -> None:
        self._app = app
        self._peers = peers
        self._login = login

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection = connections.of_scope(scope)
        if connection is not None and connection.is_surplus:
            await _busy(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        most = _most(scope["path"])
        is_signed = scope["path"].startswith(HOOKS)
        if not self._login.is_fresh and scope["path"] != HEALTH:
            await run_in_threadpool(self._login.is_needed)
        # With a login or a signature, neither the user of the other program nor the name of the service proves anything.
        is_proven = is_signed or self._login.was_needed
        refusal = None if is_proven else self._stranger(scope) or _other_host(headers)
        refusal = refusal or (None if is_signed else _site(headers)) or _size(headers, most)
        if refusal:
            await _refused(*refusal)(scope, receive, send)
            return
        await self._app(scope, _limited(receive, most), send)

    def _stranger(self, scope: Scope) -> tuple[int, str, str] | None:
        connection = connections.of_scope(scope) or connections.Connection(is_surplus=False)
        if connection.may_use is None:  # the socket at the other end keeps its user
            client, server = scope.get("client"), scope.get("server")
            connection.may_use = bool(client and server and self._peers.may_use(tuple(client), tuple(server)))
        if connection.may_use:
            return None
        return 403, "the service does not answer programs of other users", "use the user who started it"


def _refused(status: int, message: str, remedy: str, **headers: str) -> ProblemAnswer:
    details = {"type": BLANK, "title": message, "status": status, "detail": message, "remedy": remedy}
    return ProblemAnswer(details, status, headers={"Connection": "close", **headers})


async def _busy(scope: Scope, receive: Receive, send: Send) -> None:
    again_after = {"Retry-After": str(connections.AGAIN_AFTER_S)}
    refusal = "the service has too many connections", "try again later, or raise ANUBIS_CONNECTIONS"
    await _refused(503, *refusal, **again_after)(scope, receive, send)


def _other_host(headers: dict[str, str]) -> tuple[int, str, str] | None:
    host = headers.get("host", "")
    if _name(f"//{host}") in LOOPBACK:
        return None
    return 421, f"the service does not answer for the host {host!r}", "use 127.0.0.1 or localhost"


def _most(path: str) -> int:
    """The largest body of a request to this path."""
    if path.startswith(ARCHIVES):
        return MOST_ARCHIVE_BYTES
    if path.startswith(HOOKS):
        return MOST_HOOK_BYTES
    if path == HISTORIES:
        return MOST_HISTORY_BYTES
    if path == OLD_SUBMISSIONS:
        return MOST_SUBMISSION_BYTES
    return MOST_REPLACED_BYTES if RECORD in path else MOST_BYTES


def _site(headers: dict[str, str]) -> tuple[int, str, str] | None:
    """Status, message and remedy if a page of another site sends the request."""
    host = headers.get("host", "")
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        return 403, f"the service does not answer pages of {origin}", "send the request from a program"
    return None


def _size(headers: dict[str, str], most: int) -> tuple[int, str, str] | None:
    """Status, message and remedy if the body is too large."""
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > most:
        return 413, f"the body has {length} bytes, and {most} are accepted", "send less at once"
    return None


def _name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _limited(receive: Receive, most: int) -> Receive:
    """``receive`` until the body, whose length may not be declared, is too large; then the client is gone."""
    received = 0

    async def limited() -> MutableMapping[str, Any]:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        return message if received <= most else {"type": "http.disconnect"}

    return limited
