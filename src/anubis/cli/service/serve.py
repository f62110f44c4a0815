"""``anubis serve``."""

import os
import sys
from typing import TYPE_CHECKING

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
    help="Loopback address of the HTTP interface; port 0 is any free port.",
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
def serve(*, listen: str, workers: int, role: str, log_format: str, as_json: bool) -> None:
    """Serve this installation over HTTP, drive its runs and keep its schedules, until SIGTERM or Ctrl-C.

    Clients use it after "anubis register URL". Runs that are in progress when the service ends continue, and the next
    service, worker or command takes them over.
    """

    def started(address: str) -> None:
        if as_json:
            json_output.show({"url": address})
        else:
            terminal.line(address)
        sys.stdout.flush()

    settings = Settings.from_env(os.environ)
    try:
        asked = serving.Serving(listen=listen, workers=workers if ROLES[role] else 0, log_format=log_format)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise PlugInError(
            f"the service needs {error.name}, which is not installed",
            remedy="pip install 'anubis-bench[service]'",
        ) from error
    serving.serve(settings, asked, started)
