"""Space in the home folder of a service."""

from collections.abc import Sequence

from anubis.api.operations import garbage_from_json
from anubis.client.protocol import tools as protocol
from anubis.client.remote.connection import ServiceConnection
from anubis.contracts.garbage import Garbage


class Storage(protocol.Storage):
    """``Storage`` (see the protocol) over HTTP."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def collect(self, *, before_s: float, dry_run: bool = False) -> Sequence[Garbage]:
        return self._freed("collect", before_s, dry_run=dry_run)

    def pack(self, *, before_s: float, dry_run: bool = False) -> Sequence[Garbage]:
        return self._freed("pack", before_s, dry_run=dry_run)

    def _freed(self, verb: str, before_s: float, *, dry_run: bool) -> Sequence[Garbage]:
        answer = self._connection.post(f"storage/{verb}", {"before_s": before_s, "dry_run": dry_run})
        return list(map(garbage_from_json, answer["files"]))
