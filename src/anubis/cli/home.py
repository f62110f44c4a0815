"""Opens the client."""

import os
import sys
from typing import TYPE_CHECKING

from anubis.cli import terminal
from anubis.late import late
from anubis.settings import Settings

if TYPE_CHECKING:
    from anubis import client
else:  # --help and usage errors do not need the installation
    client = late("anubis.client")


def open_client() -> "client.Client":
    """The client of the installation that the environment names; a context manager.

    The first use is mentioned on a terminal, because it creates the folder of all data.
    """
    settings = Settings.from_env(os.environ)
    is_new = not settings.home.exists()
    opened = client.Client.open(settings)
    if is_new and terminal.interactive(sys.stderr):
        terminal.note(f"created {settings.home}, the folder of all data")
    return opened
