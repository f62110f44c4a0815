"""Opens the client."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anubis.cli import terminal
from anubis.late import late
from anubis.settings import Settings

if TYPE_CHECKING:
    from anubis import client
else:  # --help and usage errors do not need the installation
    client = late("anubis.client")


@contextmanager
def open_client(*, embedded: bool = False) -> "Iterator[client.Client]":
    """The client of the registered service, or of the installation that the environment names.

    ``embedded``: of the installation in any case. The first use is mentioned on a terminal, because it creates the folder
    of all data. After any command, a worker continues the runs of an installation that no process drives.
    """
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(terminal.Log())
    settings = Settings.from_env(os.environ)
    is_new = not settings.home.exists()
    with client.Client.embedded(settings) if embedded else client.Client.open(settings) as opened:
        if is_new and settings.home.exists() and terminal.interactive(sys.stderr):
            terminal.note(f"created {settings.home}, the folder of all data")
        yield opened
        opened.workers.pick_up()
