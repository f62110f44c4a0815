"""Triggers of a service."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from anubis.api.schedules import delivery_from_json, trigger_from_json
from anubis.client.protocol import triggers as protocol
from anubis.client.remote.connection import ServiceConnection
from anubis.contracts.service.triggers import ChangeKind, Trigger, TriggerDelivery, TriggerKind
from anubis.late import late
from anubis.model.problem import Problem

if TYPE_CHECKING:
    from anubis.client.remote import submission
    from anubis.describe.drafting import DescriptorText
else:  # only a new trigger needs the reader of descriptors
    submission = late("anubis.client.remote.submission")


class Triggers(protocol.Triggers):
    """``Triggers`` (see the protocol) over HTTP. The service gets the reports."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def create(
        self,
        name: str,
        files: "Sequence[Path | DescriptorText]",
        *,
        kind: TriggerKind,
        secret: str,
        changes: Sequence[ChangeKind],
        patterns: Sequence[str] = ("*",),
        repositories: Sequence[str] = ("*",),
        overrides: Mapping[str, str] | None = None,
        script: Path | str | None = None,
        warned: Callable[[Path, Problem], None] | None = None,
    ) -> Trigger:
        descriptors = submission.Descriptors(warned)
        read = {**(overrides or {}), "subject.commit": "0" * 40}
        body = {
            "name": name,
            "descriptors": [{**descriptors.body(file, overrides=read), "commits": {}} for file in files],
            "kind": kind.value,
            "secret": secret,
            "changes": [each.value for each in changes],
            "patterns": list(patterns),
            "repositories": list(repositories),
            "overrides": dict(overrides or {}),
            "script": submission.stored_script(self._connection, script),
        }
        answer = self._connection.post("triggers", body)
        descriptors.warn(answer["warnings"])
        return trigger_from_json(answer["trigger"])

    def get(self, name: str) -> Trigger:
        return trigger_from_json(self._connection.get(_path(name)))

    def find(self) -> Sequence[Trigger]:
        return list(map(trigger_from_json, self._connection.get("triggers")["triggers"]))

    def deliveries(self, name: str, *, limit: int = 20) -> Sequence[TriggerDelivery]:
        answer = self._connection.get(f"{_path(name)}/deliveries", [("limit", str(limit))])
        return list(map(delivery_from_json, answer["deliveries"]))

    def remove(self, name: str) -> Trigger:
        return trigger_from_json(self._connection.delete(_path(name)))


def _path(name: str) -> str:
    return f"triggers/{quote(name, safe='')}"
