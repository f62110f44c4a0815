"""Webhooks of a service."""

from collections.abc import Sequence
from urllib.parse import quote

from anubis.api.operations import sink_from_json
from anubis.client.protocol import webhooks as protocol
from anubis.client.remote.connection import ServiceConnection
from anubis.contracts.events import Sink


class Webhooks(protocol.Webhooks):
    """``Webhooks`` (see the protocol) over HTTP."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def add(self, address: str, secret: str, *, kinds: Sequence[str] = (), past: bool = False) -> Sink:
        body = {"address": address, "secret": secret, "kinds": list(kinds), "past": past}
        return sink_from_json(self._connection.post("webhooks", body))

    def find(self) -> Sequence[Sink]:
        return list(map(sink_from_json, self._connection.get("webhooks")["webhooks"]))

    def get(self, ref: str) -> Sink:
        return sink_from_json(self._connection.get(_place(ref)))

    def remove(self, ref: str) -> Sink:
        return sink_from_json(self._connection.delete(_place(ref)))

    def resume(self, ref: str) -> Sink:
        return sink_from_json(self._connection.post(f"{_place(ref)}/resume", {}))

    def test(self, ref: str) -> None:
        self._connection.post(f"{_place(ref)}/test", {})


def _place(ref: str) -> str:
    return f"webhooks/{quote(ref, safe='')}"
