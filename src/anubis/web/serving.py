"""``anubis serve``: the HTTP interface and the reconcilers in one process."""

import contextlib
import ipaddress
import os
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import FrameType
from urllib.parse import urlsplit

import uvicorn

from anubis.model.errors import AnubisError, BadInputError
from anubis.pipeline import held_runs
from anubis.settings import Settings
from anubis.submission.person import person
from anubis.web import log_lines
from anubis.web.announced import Announced
from anubis.web.app import application
from anubis.web.changes import Changes
from anubis.web.drivers import Drivers
from anubis.web.sandboxing import sandboxed
from anubis.web.service import Service
from anubis.wiring import build

#: Requests in progress have so long to end after a signal, seconds.
GRACE_S = 10
_BACKLOG = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a service is started."""

    #: ``HOST:PORT``; port 0: a free one.
    listen: str
    #: Number of reconcilers; 0: only the HTTP interface.
    workers: int
    #: ``json`` or ``text``.
    log_format: str


class _Server(uvicorn.Server):
    """A server whose signals are handled by ``serve``."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(settings: Settings, asked: Serving, started: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; ``started`` is called with the address when requests are accepted.

    Requests in progress and reconcilers then end; runs continue without the service. Raises BadInputError for an address
    that other machines can reach, and for a sandbox that does not work, and the error that ended a reconciler.
    """
    listener = listening(asked.listen)
    log_lines.set_up(asked.log_format)
    settings = replace(sandboxed(settings, os.environ), client_id=person(settings))  # asks git once
    with contextlib.closing(listener), contextlib.closing(build(settings)) as installation:
        announced = Announced(settings.database_url)
        changes = Changes(installation.world.events.last, announced.look_every_s)
        servers: list[_Server] = []

        def failed() -> None:
            for server in servers:
                _end(server, changes)

        drivers = Drivers(
            settings,
            asked.workers,
            changed=lambda _run: changes.note(),
            failed=failed,
            look_every_s=lambda: announced.look_every_s(held_runs.LOOK_EVERY_S),
        )
        app = application(Service(installation, changes, drivers))
        server = _Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                timeout_graceful_shutdown=GRACE_S,
            )
        )
        servers.append(server)
        with (
            _ended_by_signal(server, changes, drivers),
            announced.waking(changes, drivers),
            drivers.driving(),
        ):
            started(address_of(listener))
            server.run(sockets=[listener])
            changes.close()
    if drivers.error is not None:
        raise AnubisError(
            f"a reconciler of the service ended: {drivers.error}",
            remedy="see the log, then start the service again",
        ) from drivers.error


def _end(server: _Server, changes: Changes) -> None:
    server.should_exit = True
    changes.close()


@contextlib.contextmanager
def _ended_by_signal(server: _Server, changes: Changes, drivers: Drivers) -> Iterator[None]:
    """The first signal ends the service after the requests in progress, the second one without waiting for them."""

    def end(_number: int, _frame: FrameType | None) -> None:
        server.force_exit = server.should_exit
        _end(server, changes)
        drivers.stop()

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, end) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def listening(address: str) -> socket.socket:
    """A socket that listens on ``HOST:PORT``. Raises BadInputError if other machines can reach it."""
    try:
        parts = urlsplit(f"//{address}")
        host, port = parts.hostname or "", parts.port
        if port is None or parts.netloc.rpartition("@")[1] or parts.path:
            raise ValueError(address)
    except ValueError:
        raise BadInputError(
            f"expected HOST:PORT, got {address!r}", remedy="use --listen 127.0.0.1:8080"
        ) from None
    number = "127.0.0.1" if host == "localhost" else host
    try:
        is_loopback = ipaddress.ip_address(number).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise BadInputError(
            f"the service cannot listen on {address}: other machines reach that address, and the service has no logins yet",
            remedy="use --listen 127.0.0.1:8080, and connect from other machines with"
            " ssh -L 8080:127.0.0.1:8080 MACHINE",
        )
    listener = socket.socket(socket.AF_INET6 if ":" in number else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((number, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise BadInputError(
            f"the service cannot listen on {address}: {error.strerror}",
            remedy="end the program that uses the port, or choose another port; 0 is any free port",
        ) from error
    return listener


def address_of(listener: socket.socket) -> str:
    """The URL of a socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
