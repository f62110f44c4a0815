"""Connections of a service: what is decided once for each of them, and how many there may be."""

import resource
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

#: Key of the connection in the state of a request.
KEY = "connection"
#: Files that a service opens besides connections: records, databases, libraries.
RESERVED_FILES = 512
#: When a client that was refused may try again, seconds.
AGAIN_AFTER_S = 5


@dataclass(slots=True)
class Connection:
    """What is known of one connection."""

    #: There were too many connections when it was opened.
    is_surplus: bool
    #: Whether the program at the other end may use the service; None: not looked up yet.
    may_use: bool | None = None


def most_connections(wanted: int) -> int:
    """The limit of connections. Raises the limit of open files of this process as far as it is allowed and needed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + RESERVED_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    files = needed if soft == resource.RLIM_INFINITY else soft
    return max(1, min(wanted, files - min(RESERVED_FILES, files // 2)))


def protocol(most: int) -> type[HttpToolsProtocol]:
    """The protocol of uvicorn, with a ``Connection`` in the state of every request; those above ``most`` are surplus."""

    class Counted(HttpToolsProtocol):
        def connection_made(self, transport: "asyncio.Transport") -> None:  # type: ignore[override]  # as uvicorn
            super().connection_made(transport)
            state: dict[str, Any] = {**self.app_state, KEY: Connection(len(self.connections) > most)}
            self.app_state = state

    return Counted


def of_scope(scope: Any) -> Connection | None:
    """The connection of a request; None without a server, as in tests."""
    found: Connection | None = scope.get("state", {}).get(KEY)
    return found
