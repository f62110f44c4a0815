"""Opens the client."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anubis.late import late

if TYPE_CHECKING:
    from anubis import client
else:  # --help and usage errors do not need the installation
    client = late("anubis.client")


@contextmanager
def open_client() -> "Iterator[client.Client]":
    """The client of the installation that the environment names.

    After any command, a worker continues the runs that no process drives.
    """
    with client.Client.open() as opened:
        yield opened
        opened.workers.pick_up()
