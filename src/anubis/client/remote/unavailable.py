"""What a client of a service cannot do."""

from anubis.client.remote.connection import ServiceConnection
from anubis.model.errors import BadInputError


def unavailable(connection: ServiceConnection, what: str) -> BadInputError:
    """The error of an operation that needs the home folder of the service."""
    return BadInputError(
        f"{what} is not possible through the service {connection.url}",
        remedy="use it on the machine of the service, in its home folder: set ANUBIS_SERVICE_URL to none",
    )
