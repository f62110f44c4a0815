"""Space in the home folder of a service."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anubis.api.operations import expired_from_json, garbage_from_json, hold_from_json
from anubis.client import resuming
from anubis.client.protocol import tools as protocol
from anubis.client.remote.connection import ServiceConnection
from anubis.contracts.garbage import Expired, Garbage, Hold
from anubis.late import late
from anubis.model.errors import BadInputError

if TYPE_CHECKING:
    from anubis.store.bucket import archives
    from anubis.transfer.daily import sending
else:  # "anubis gc" needs none of them
    archives = late("anubis.store.bucket.archives")
    sending = late("anubis.transfer.daily.sending")


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

    def archive(self, place: Path | str, *, today: bool = False) -> Sequence[Mapping[str, Any]]:
        found = archives.place_of(place, self._connection.settings.bucket_endpoint)
        with found.locked() as is_writer:
            if not is_writer:
                raise BadInputError(
                    f"another process writes the archive {found.name}", remedy="try again when it has ended"
                )
            objects = found.objects
            known = sending.known_of(objects)
            body = {
                "through_seq": known.index.through_seq,
                "open_days": known.index.open_days,
                "through": dict(known.through),
                "today": today,
            }
            with tempfile.TemporaryFile(prefix="anubis-") as file:

                def received() -> None:
                    file.truncate(0)
                    file.seek(0)
                    file.writelines(self._connection.pieces("storage/archive", body=body))

                resuming.repeated(received)
                file.seek(0)
                return sending.store(file, objects)

    def expire(self, *, dry_run: bool = False) -> Sequence[Expired]:
        answer = self._connection.post("storage/expire", {"dry_run": dry_run})
        return list(map(expired_from_json, answer["expired"]))

    def _freed(self, verb: str, before_s: float, *, dry_run: bool) -> Sequence[Garbage]:
        answer = self._connection.post(f"storage/{verb}", {"before_s": before_s, "dry_run": dry_run})
        return list(map(garbage_from_json, answer["files"]))
