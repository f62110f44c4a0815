"""Space in the home folder of a service."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anubis.api.operations import expired_from_json, garbage_from_json, hold_from_json
from anubis.client.protocol import tools as protocol
from anubis.client.remote.connection import ServiceConnection, unavailable
from anubis.contracts.garbage import Expired, Garbage, Hold


class Storage(protocol.Storage):
    """``Storage`` (see the protocol) over HTTP."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def collect(self, *, before_s: float, dry_run: bool = False) -> Sequence[Garbage]:
        return self._freed("collect", before_s, dry_run=dry_run)

    def pack(self, *, before_s: float, dry_run: bool = False) -> Sequence[Garbage]:
        return self._freed("pack", before_s, dry_run=dry_run)

    def hold(self, refs: Sequence[str], *, why: str) -> Sequence[Hold]:
        answer = self._connection.post("holds", {"runs": list(refs), "why": why})
        return list(map(hold_from_json, answer["holds"]))

    def holds(self) -> Sequence[Hold]:
        return list(map(hold_from_json, self._connection.get("holds")["holds"]))

    def release(self, refs: Sequence[str]) -> Sequence[str]:
        released: list[str] = self._connection.post("holds/release", {"runs": list(refs)})["released"]
        return released

    def archive(self, place: Path | str, *, today: bool = False) -> Sequence[Mapping[str, Any]]:  # noqa: ARG002  not possible
        raise unavailable(self._connection, "writing data sets")

    def expire(self, *, dry_run: bool = False) -> Sequence[Expired]:
        answer = self._connection.post("storage/expire", {"dry_run": dry_run})
        return list(map(expired_from_json, answer["expired"]))

    def _freed(self, verb: str, before_s: float, *, dry_run: bool) -> Sequence[Garbage]:
        answer = self._connection.post(f"storage/{verb}", {"before_s": before_s, "dry_run": dry_run})
        return list(map(garbage_from_json, answer["files"]))
