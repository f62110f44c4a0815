"""``anubis ui``: the pages of this installation in a browser."""

import os
import sys
import webbrowser
from typing import TYPE_CHECKING

import click

from anubis.cli import terminal
from anubis.cli.params import json_option
from anubis.cli.service.serve import asked_of
from anubis.cli.views import json_output
from anubis.client import registration
from anubis.late import late
from anubis.settings import Settings

if TYPE_CHECKING:
    from anubis.web import serving
else:  # the libraries of the extra "service"
    serving = late("anubis.web.serving")


@click.command()
@click.option(
    "--browser/--no-browser",
    "opens",
    default=True,
    help="Whether to open the pages in a browser; the address is always printed.",
)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, metavar="N", help="Port; by default any free one."
)
@json_option
def ui(*, opens: bool, port: int, as_json: bool) -> None:
    """Show the pages of this installation in a browser, until Ctrl-C.

    Starts a service that only programs of this user on this machine reach; it also drives runs and keeps schedules. If a
    service is registered, its pages are shown and nothing is started.
    """
    settings = Settings.from_env(os.environ)
    url = registration.url_of(settings)
    if url is not None:
        _show(url, opens=opens, as_json=as_json)
        return
    asked = asked_of(listen=f"127.0.0.1:{port}", workers=1, log_format="quiet")
    serving.serve(settings, asked, lambda address: _show(address, opens=opens, as_json=as_json))


def _show(address: str, *, opens: bool, as_json: bool) -> None:
    page = f"{address.rstrip('/')}/ui"
    if as_json:
        json_output.show({"url": page})
    else:
        terminal.line(page)
    sys.stdout.flush()
    if opens and not webbrowser.open(page):
        terminal.note("no browser was found; open the address above")


def note_page(path: str) -> None:
    """Tell a person at a terminal where the registered service shows something."""
    url = registration.url_of(Settings.from_env(os.environ))
    if url is not None and terminal.interactive(sys.stderr):
        terminal.note(f"{url.rstrip('/')}/ui/{path}")
