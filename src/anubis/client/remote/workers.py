"""The service drives all runs, so its clients start no workers."""

from anubis.client.protocol import tools as protocol
from anubis.client.remote.connection import ServiceConnection
from anubis.client.remote.unavailable import unavailable


class Workers(protocol.Workers):
    """``Workers`` (see the protocol): none are needed."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def start(self) -> bool:
        return False

    def pick_up(self) -> bool:
        return False

    def keep_schedules(self) -> None:
        raise unavailable(self._connection, "working as a worker")

    def run(self) -> bool:
        raise unavailable(self._connection, "working as a worker")
