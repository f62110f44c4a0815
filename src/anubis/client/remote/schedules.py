"""Schedules of a service."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from anubis.api.runs import run_from_json
from anubis.api.schedules import due_time_from_json, schedule_from_json
from anubis.client.protocol import schedules as protocol
from anubis.client.remote.connection import ServiceConnection
from anubis.contracts.schedules import CatchUp, DueTime, Schedule
from anubis.late import late
from anubis.model.problem import Problem
from anubis.model.run import Run

if TYPE_CHECKING:
    from anubis.client.remote import submission
    from anubis.describe.drafting import DescriptorText
else:  # only a new schedule needs the reader of descriptors
    submission = late("anubis.client.remote.submission")


class Schedules(protocol.Schedules):
    """``Schedules`` (see the protocol) over HTTP. The service keeps them."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def add(
        self,
        file: "Path | DescriptorText",
        *,
        name: str | None = None,
        overrides: Mapping[str, str] | None = None,
        script: Path | str | None = None,
        catch_up: CatchUp = CatchUp.LAST,
        catch_up_limit: int = 10,
        jitter_s: float = 0.0,
        pause_after: int = 0,
        warned: Callable[[Path, Problem], None] | None = None,
    ) -> protocol.Added:
        descriptors = submission.Descriptors(warned)
        descriptor = descriptors.body(file, overrides=overrides or {})
        body = {
            # commits are looked up again at each due time
            "descriptor": {**descriptor, "name": str(Path(descriptor["name"]).absolute()), "commits": {}},
            "name": name,
            "overrides": dict(overrides or {}),
            "script": submission.stored_script(self._connection, script),
            "catch_up": catch_up.value,
            "catch_up_limit": catch_up_limit,
            "jitter_s": jitter_s,
            "pause_after": pause_after,
        }
        answer = self._connection.put("schedules", body)
        descriptors.warn(answer["warnings"])
        return protocol.Added(
            schedule=schedule_from_json(answer["schedule"]),
            before=schedule_from_json(answer["before"]) if answer["before"] else None,
            changes=tuple(answer["changes"]),
        )

    def get(self, ref: str) -> Schedule:
        return schedule_from_json(self._connection.get(_path(ref)))

    def find(self) -> Sequence[Schedule]:
        return list(map(schedule_from_json, self._connection.get("schedules")["schedules"]))

    def text(self, ref: str) -> str:
        found: str = self._connection.get(f"{_path(ref)}/descriptor")["text"]
        return found

    def due_times(self, ref: str, *, limit: int = 20) -> Sequence[DueTime]:
        answer = self._connection.get(f"{_path(ref)}/due-times", [("limit", str(limit))])
        return list(map(due_time_from_json, answer["due_times"]))

    def pause(self, ref: str, *, why: str = "") -> Schedule:
        return schedule_from_json(self._connection.post(f"{_path(ref)}/pause", {"why": why}))

    def resume(self, ref: str) -> Schedule:
        return schedule_from_json(self._connection.post(f"{_path(ref)}/resume", {}))

    def trigger(self, ref: str) -> list[Run]:
        return list(map(run_from_json, self._connection.post(f"{_path(ref)}/trigger", {})["runs"]))

    def remove(self, ref: str) -> Schedule:
        return schedule_from_json(self._connection.delete(_path(ref)))


def _path(ref: str) -> str:
    return f"schedules/{quote(ref, safe='')}"
