"""Opens the client."""

from typing import TYPE_CHECKING

from anubis.late import late

if TYPE_CHECKING:
    from anubis import client
else:  # --help and usage errors do not need the installation
    client = late("anubis.client")


def open_client() -> "client.Client":
    """The client of the installation that the environment names; a context manager."""
    return client.Client.open()
