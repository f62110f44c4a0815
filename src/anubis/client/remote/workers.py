"""The service drives all runs, so its clients start no workers; the machines that joined it."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from anubis.api.machines.joined import worker_from_json
from anubis.client.protocol import tools as protocol
from anubis.client.remote.connection import ServiceConnection, unavailable


class Workers(protocol.Workers):
    """``Workers`` (see the protocol) over HTTP: none are started here."""

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

    def find(self) -> Sequence[protocol.WorkerNow]:
        return [*map(_now, self._connection.get("workers")["workers"])]

    def get(self, name: str) -> protocol.WorkerNow:
        return _now(self._connection.get(f"workers/{quote(name, safe='')}"))

    def make_token(self, name: str) -> str:
        made: str = self._connection.post(f"workers/{quote(name, safe='')}/token", {})["token"]
        return made

    def revoke(self, name: str) -> protocol.WorkerNow:
        return _now(self._connection.delete(f"workers/{quote(name, safe='')}/token"))


def _now(plain: dict[str, Any]) -> protocol.WorkerNow:
    worker, attempts = worker_from_json(plain)
    return protocol.WorkerNow(worker=worker, attempts=attempts)
