"""``anubis login`` and ``logout``: a token for this machine, from a browser in which a person has signed in."""

import base64
import hashlib
import os
import secrets
import webbrowser
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import click

from anubis.cli import terminal
from anubis.cli.params import json_option
from anubis.cli.views import json_output
from anubis.late import late
from anubis.model.errors import AnubisError, BadInputError, NotFoundError
from anubis.settings import Settings

if TYPE_CHECKING:
    from anubis.client import registration
    from anubis.client.remote import access, connection
    from anubis.client.remote.access import login as remote_login
else:  # --help does not need them
    registration = late("anubis.client.registration")
    access = late("anubis.client.remote.access")
    connection = late("anubis.client.remote.connection")
    remote_login = late("anubis.client.remote.access.login")

#: A person has so long to sign in, seconds.
PATIENCE_S = 600.0
_DONE = b"<!doctype html><title>Anubis</title><p>You are logged in. You can close this page."
_NOT_DONE = b"<!doctype html><title>Anubis</title><p>This address is not that of the login."


@click.command()
@click.argument("url", required=False)
@click.option(
    "--no-browser", is_flag=True, help="Print an address for a browser on any machine, and ask for its code."
)
@json_option
def login(*, url: str | None, no_browser: bool, as_json: bool) -> None:
    """Log in to the service at URL with a browser, and use it from now on.

    Without URL: the registered service. The browser asks you to sign in and to allow this command line; then a token of
    yours is kept in the home folder, where only you can read it.
    """
    settings = Settings.from_env(os.environ)
    address = registration.checked(url) if url else registration.url_of(settings)
    if address is None:
        raise NotFoundError("no service is registered", remedy="name it: anubis login URL")
    verifier, state = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    code = _pasted(address, verifier, state) if no_browser else _received(address, verifier, state)
    token = _on(settings, address, lambda service: remote_login.token_for(service, code, verifier), "")
    name = _on(settings, address, lambda service: access.Access(service).whoami().name, token)
    registration.register(settings, address, token)
    if as_json:
        json_output.show({"url": address, "name": name})
    else:
        terminal.line(f"logged in to {address} as {name}")


@click.command()
@json_option
def logout(*, as_json: bool) -> None:
    """Revoke the token of this machine for the service, and remove it. The service stays registered."""
    settings = Settings.from_env(os.environ)
    address = registration.registered(settings)
    if address is None:
        raise NotFoundError("no service is registered", remedy="register one: anubis register URL")
    kept = replace(settings, service_token="")
    token = registration.token_of(kept, address)
    revoked = bool(token) and _revoked(kept, address, token)
    registration.register(settings, address, "")
    if as_json:
        json_output.show({"url": address, "revoked": revoked})
    else:
        terminal.line(f"logged out of {address}" if token else f"no token for {address} is kept")


def _revoked(settings: Settings, address: str, token: str) -> bool:
    try:
        _on(settings, address, remote_login.end_token, token)
    except AnubisError as error:
        terminal.warn(f"the token is removed here, but it is not revoked: {error.message}")
        return False
    return True


def _on(settings: Settings, address: str, work: Any, token: str) -> Any:
    """The result of ``work`` with a connection that sends this token."""
    service = connection.ServiceConnection(address, replace(settings, service_token=token))
    try:
        return work(service)
    finally:
        service.close()


def _page(address: str, verifier: str, state: str, port: int) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    fields = {"port": port, "challenge": challenge, "state": state}
    return f"{address}{remote_login.ASK}?{urlencode(fields)}"


def _pasted(address: str, verifier: str, state: str) -> str:
    terminal.line(f"Open this address: {_page(address, verifier, state, 0)}", err=True)
    return str(click.prompt("Code", err=True)).strip()


def _received(address: str, verifier: str, state: str) -> str:
    """The code that the browser brings to a loopback port of this machine (RFC 8252 section 7.3)."""
    found: list[str] = []

    class Receiver(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            given = query.get("state", [""])[0]
            is_ours = secrets.compare_digest(given.encode(), state.encode()) and "code" in query
            if is_ours:
                found.append(query["code"][0])
            self.send_response(200 if is_ours else 400)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(_DONE if is_ours else _NOT_DONE)

        def log_message(self, *_args: Any) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.timeout = PATIENCE_S
        waiting: list[bool] = []
        server.handle_timeout = lambda: waiting.append(False)  # type: ignore[method-assign]
        page = _page(address, verifier, state, server.server_address[1])
        terminal.line(f"Open this address, if your browser does not: {page}", err=True)
        webbrowser.open(page)
        while not found and not waiting:
            server.handle_request()
    if not found:
        raise BadInputError("the sign-in took too long", remedy="run anubis login again")
    return found[0]
