"""``anubis serve``: the HTTP interface and the reconcilers in one process."""

import contextlib
import gc
import ipaddress
import os
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from anubis.model.errors import AnubisError, BadInputError
from anubis.pipeline import held_runs
from anubis.settings import Settings
from anubis.store.access.identities import StoredIdentities
from anubis.submission.person import person
from anubis.web import connections, log_lines
from anubis.web.access.decision import Access
from anubis.web.access.login import Login
from anubis.web.access.trail import Trail
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
    #: ``json``, ``text`` or ``quiet``; see ``log_lines``.
    log_format: str
    #: Files in PEM: the certificate with those of its issuers, and its key. None: no TLS.
    tls: tuple[Path, Path] | None = None
    #: Listen without TLS where other machines reach the service.
    without_tls: bool = False
    #: Address of a proxy that ends TLS, and whose X-Forwarded-For names the client; empty: none.
    trusted_proxy: str = ""


class _Server(uvicorn.Server):
    """A server whose signals are handled by ``serve``."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(settings: Settings, asked: Serving, started: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; ``started`` is called with the address when requests are accepted.

    Requests in progress and reconcilers then end; runs continue without the service. Raises BadInputError for an address
    that other machines can reach without a login or without TLS, and for a sandbox that does not work, and the error that
    ended a reconciler.
    """
    listener, is_private = _listener(asked, settings)
    log_lines.set_up(asked.log_format)
    settings = replace(sandboxed(settings, os.environ), client_id=person(settings))  # asks git once
    with contextlib.closing(listener), contextlib.closing(build(settings)) as installation:
        access = _access(installation.store.identities, is_required=not is_private)
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
        app = application(Service(replace(installation, is_served=True), changes, drivers, access))
        server = _Server(
            uvicorn.Config(
                app,
                http=connections.protocol(connections.most_connections(settings.connections)),
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                timeout_graceful_shutdown=GRACE_S,
                proxy_headers=bool(asked.trusted_proxy),
                forwarded_allow_ips=asked.trusted_proxy or None,
                **_tls(asked.tls),
            )
        )
        servers.append(server)
        writing = access.trail.writing(installation.clock.now_s())
        with (
            _ended_by_signal(server, changes, drivers),
            announced.waking(changes, drivers),
            drivers.driving(),
            writing,
        ):
            started(address_of(listener, "https" if asked.tls else "http"))
            gc.collect()
            gc.freeze()  # what lives as long as the service is not looked through again while requests wait
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


def _listener(asked: Serving, settings: Settings) -> tuple[socket.socket, bool]:
    """The socket of the service, and whether only programs of this machine reach it."""
    place = place_of(asked.listen)
    is_private = place.is_loopback and not asked.trusted_proxy
    if not is_private:
        check_exposed(asked, settings)
    return listening(place), is_private


def _access(identities: StoredIdentities, *, is_required: bool) -> Access:
    return Access(Login(identities, is_required=is_required), Trail(identities.decisions))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a service listens."""

    #: As it was given.
    text: str
    #: Number of a network address.
    host: str
    port: int
    is_loopback: bool


def place_of(text: str) -> Place:
    """The place ``HOST:PORT``. Raises BadInputError."""
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname or "", parts.port
        if port is None or parts.netloc.rpartition("@")[1] or parts.path:
            raise ValueError(text)
        number = "127.0.0.1" if host == "localhost" else host
        is_loopback = ipaddress.ip_address(number).is_loopback
    except ValueError:
        raise BadInputError(
            f"expected HOST:PORT with the number of an address, got {text!r}",
            remedy="use --listen 127.0.0.1:8080",
        ) from None
    return Place(text, number, port, is_loopback)


def check_exposed(asked: Serving, settings: Settings) -> None:
    """Raise BadInputError if other machines would reach a service without a login, or without TLS."""
    if not (asked.tls or asked.without_tls or asked.trusted_proxy):
        raise BadInputError(
            f"the service cannot listen on {asked.listen} without TLS: other machines reach that address, and tokens"
            " could be read on the network",
            remedy="use --tls-cert FILE --tls-key FILE, --trusted-proxy ADDRESS for a proxy that ends TLS, or"
            " --without-tls in a network that you trust; or --listen 127.0.0.1:8080, and connect from other machines with"
            " ssh -L 8080:127.0.0.1:8080 MACHINE",
        )
    with contextlib.closing(build(settings)) as installation:
        if not installation.store.identities.has_admin_token(installation.clock.now_s()):
            raise BadInputError(
                f"the service cannot listen on {asked.listen} without a login: other machines reach that address",
                remedy="create an administrator with a token on this machine: anubis token admin NAME",
            )


def _tls(files: tuple[Path, Path] | None) -> dict[str, Any]:
    """Options of uvicorn. Raises BadInputError for files that are not a certificate and its key."""
    if files is None:
        return {}
    certificate, key = files
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except OSError as error:  # SSLError is one
        raise BadInputError(
            f"{certificate} and {key} are not a certificate and its key: {error.strerror or error}",
            remedy="give two files in PEM; the certificate first, then those of its issuers",
        ) from error
    return {"ssl_certfile": certificate, "ssl_keyfile": key}


def listening(place: Place) -> socket.socket:
    """A socket that listens on a place. Raises BadInputError if it cannot."""
    listener = socket.socket(socket.AF_INET6 if ":" in place.host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((place.host, place.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise BadInputError(
            f"the service cannot listen on {place.text}: {error.strerror}",
            remedy="end the program that uses the port, or choose another port; 0 is any free port",
        ) from error
    return listener


def address_of(listener: socket.socket, scheme: str) -> str:
    """The URL of a socket."""
    host, port = listener.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
