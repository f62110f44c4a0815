"""Opens the client. Imported at the moment of use: a mistake on the command line is told without it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anubis.client import Client


def open_client() -> "Client":
    """The client of the installation that the environment names; a context manager."""
    from anubis.client import Client  # noqa: PLC0415  80 ms that --help and a wrong option do not need

    return Client.open()
