"""``anubis serve``."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anubis.cli import terminal
from anubis.cli.params import json_option
from anubis.cli.views import json_output
from anubis.late import late
from anubis.model.errors import PlugInError
from anubis.settings import Settings

if TYPE_CHECKING:
    from anubis.web import serving
else:  # the libraries of the extra "service"
    serving = late("anubis.web.serving")

#: Role -> whether it has reconcilers.
ROLES = {"all": True, "api": False}
#: Libraries of the extra "service".
_EXTRA = {"fastapi", "starlette", "uvicorn", "prometheus_client"}


@click.command()
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:8080",
    show_default=True,
    help="Address of the HTTP interface; port 0 is any free port.",
)
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Certificate in PEM, with those of its issuers; needs --tls-key.",
)
@click.option("--tls-key", type=click.Path(path_type=Path), metavar="FILE", help="Key of the certificate.")
@click.option(
    "--without-tls", is_flag=True, help="Listen without TLS although other machines reach the address."
)
@click.option(
    "--trusted-proxy",
    metavar="ADDRESS",
    default="",
    help="Proxy that ends TLS; its header X-Forwarded-For names the client.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    metavar="N",
    default=1,
    show_default=True,
    help="Reconcilers, each in a separate thread.",
)
@click.option(
    "--role",
    type=click.Choice([*ROLES]),
    default="all",
    show_default=True,
    help="all: the HTTP interface and reconcilers; api: only the HTTP interface.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Log lines on standard error: for people, or JSON objects with run ids.",
)
@json_option
def serve(
    *,
    listen: str,
    workers: int,
    role: str,
    log_format: str,
    tls_cert: Path | None,
    tls_key: Path | None,
    without_tls: bool,
    trusted_proxy: str,
    as_json: bool,
) -> None:
    """Serve this installation over HTTP, drive its runs and keep its schedules, until SIGTERM or Ctrl-C.

    Clients use it after "anubis register URL". Runs that are in progress when the service ends continue, and the next
    service, worker or command takes them over. With users, or on an address that other machines reach, every request needs
    a token.
    """
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key belong together")

    def started(address: str) -> None:
        if as_json:
            json_output.show({"url": address})
        else:
            terminal.line(address)
        sys.stdout.flush()

    asked = asked_of(
        listen=listen,
        workers=workers if ROLES[role] else 0,
        log_format=log_format,
        tls=(tls_cert, tls_key) if tls_cert and tls_key else None,
        without_tls=without_tls,
        trusted_proxy=trusted_proxy,
    )
    serving.serve(Settings.from_env(os.environ), asked, started)


def asked_of(**fields: Any) -> "serving.Serving":
    """How a service is started. Raises PlugInError without the libraries of a service."""
    try:
        return serving.Serving(**fields)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise PlugInError(
            f"the service needs {error.name}, which is not installed",
            remedy="pip install 'anubis-bench[service]'",
        ) from error
