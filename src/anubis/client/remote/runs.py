"""Runs of a service."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from anubis.api.paging import MOST, query_to_params, run_before
from anubis.api.runs import event_from_json, row_from_json, run_from_json
from anubis.client.protocol import runs as protocol
from anubis.client.remote.connection import MOST_NAMED, ServiceConnection
from anubis.contracts.runs import RunQuery, RunRow, StoredNames
from anubis.late import late
from anubis.model.plain import from_plain
from anubis.model.problem import Problem
from anubis.model.run import Event, Run

if TYPE_CHECKING:
    from anubis.client.remote import following, submission
    from anubis.describe.drafting import DescriptorText
else:  # listings need no reader of descriptors
    following = late("anubis.client.remote.following")
    submission = late("anubis.client.remote.submission")


class Runs(protocol.Runs):
    """``Runs`` (see the protocol) over HTTP. The service drives them."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def submit(
        self,
        files: "Sequence[Path | DescriptorText]",
        *,
        overrides: Mapping[str, str] | None = None,
        script: Path | str | None = None,
        rounds: int = 1,
        control: bool = False,
        warned: Callable[[Path, Problem], None] | None = None,
        overlays: Sequence[Path] = (),
        needs: Sequence[str] = (),
    ) -> list[Run]:
        descriptors = submission.Descriptors(warned)
        body = {
            "descriptors": [
                descriptors.body(file, overrides=overrides or {}, overlays=overlays) for file in files
            ],
            "overrides": dict(overrides or {}),
            "script": submission.stored_script(self._connection, script),
            "rounds": rounds,
            "control": control,
            **({"needs": list(needs)} if needs else {}),
        }
        answer = self._connection.post("runs", body, key=str(uuid.uuid4()))
        descriptors.warn(answer["warnings"])
        return list(map(run_from_json, answer["runs"]))

    def submit_all(
        self,
        requests: Sequence[protocol.SubmitRequest],
        *,
        warned: Callable[[Path, Problem], None] | None = None,
    ) -> list[list[str]]:
        descriptors = submission.Descriptors(warned)
        body = {
            "submissions": [
                {
                    "descriptors": [
                        descriptors.body(file, overrides=request.overrides) for file in request.files
                    ],
                    "overrides": dict(request.overrides),
                    "script": submission.stored_script(self._connection, request.script),
                    "rounds": request.rounds,
                    "control": request.control,
                    **({"needs": list(request.needs)} if request.needs else {}),
                }
                for request in requests
            ]
        }
        answer = self._connection.post("runs/batches", body, key=str(uuid.uuid4()))
        descriptors.warn(answer["warnings"])
        return [submitted["run_ids"] for submitted in answer["submissions"]]

    def replay(
        self, ref: str, *, overrides: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> protocol.Replayed:
        body = {"overrides": dict(overrides or {}), "folder": str(folder.absolute()) if folder else None}
        return _replayed(self._connection.post(f"runs/{quote(ref, safe='')}/replay", body))

    def compared(self, replayed: protocol.Replayed) -> protocol.Replayed:
        address = f"runs/{replayed.run.id}/differences"
        found = _replayed(self._connection.get(address, [("of", replayed.replay_of.id)]))
        return replace(found, differences=replayed.differences + found.differences)

    def wait(self, run_ids: Sequence[str], changed: Callable[[Run], None] | None = None) -> list[Run]:
        following.wait(self._connection, self, run_ids, changed)
        return [self.get(run_id) for run_id in run_ids]

    def get(self, ref: str) -> Run:
        return run_from_json(self._connection.get(f"runs/{quote(ref, safe='')}"))

    def find(self, query: RunQuery) -> Sequence[RunRow]:
        if len(query.ids) > MOST_NAMED:
            return self._of_many(query)
        rows: list[RunRow] = []
        while len(rows) < query.limit:
            page = replace(query, limit=min(MOST, query.limit - len(rows)))
            answer = self._connection.get("runs", list(query_to_params(page)))
            rows += map(row_from_json, answer["runs"])
            if answer["next"] is None:
                break
            query = replace(query, after=run_before(answer["next"]))
        return rows

    def _of_many(self, query: RunQuery) -> Sequence[RunRow]:
        """The rows of a query for more runs than an address can name."""
        rows = [
            row
            for start in range(0, len(query.ids), MOST_NAMED)
            for row in self.find(replace(query, ids=query.ids[start : start + MOST_NAMED], after=None))
        ]
        rows.sort(key=lambda row: (row.created_s, row.id), reverse=query.newest_first)
        if query.after is not None:
            place = next((at for at, row in enumerate(rows) if row.id == query.after), -1)
            rows = rows[place + 1 :]
        return rows[: query.limit]

    def family(self, ref: str) -> Sequence[RunRow]:
        return list(map(row_from_json, self._connection.get(f"runs/{quote(ref, safe='')}/family")["runs"]))

    def names(self) -> StoredNames:
        plain = self._connection.get("names")
        labels = {name: tuple(values) for name, values in plain["labels"].items()}
        return StoredNames(
            benchmarks=tuple(plain["benchmarks"]), metrics=tuple(plain["metrics"]), labels=labels
        )

    def short_ids(self, run_ids: Iterable[str]) -> Mapping[str, str]:
        found: Mapping[str, str] = self._connection.post("runs/short-ids", {"ids": list(run_ids)})[
            "short_ids"
        ]
        return found

    def events(self, ref: str, *, after_seq: int = 0) -> Sequence[Event]:
        answer = self._connection.get(f"runs/{quote(ref, safe='')}/timeline", [("after_seq", str(after_seq))])
        return [event_from_json(plain["run_id"], plain) for plain in answer["events"]]

    def text(self, ref: str) -> str:
        found: str = self._connection.get(f"runs/{quote(ref, safe='')}/descriptor")["text"]
        return found

    def cancel(self, refs: Sequence[str], *, why: str = "", cascade: bool = False) -> list[Run]:
        if not refs:
            return []
        body = {"refs": list(refs), "why": why, "cascade": cascade}
        return list(map(run_from_json, self._connection.post("runs/cancellations", body)["runs"]))

    def purge(self, refs: Sequence[str]) -> list[str]:
        if not refs:
            return []
        ids: list[str] = self._connection.post("runs/purge", {"refs": list(refs)})["ids"]
        return ids

    def engines(self) -> list[str]:
        found: list[str] = self._connection.get("engines")["engines"]
        return found


def _replayed(plain: Mapping[str, Any]) -> protocol.Replayed:
    return protocol.Replayed(
        run=run_from_json(plain["run"]),
        replay_of=run_from_json(plain["replay_of"]),
        differences=tuple(from_plain(Problem, each) for each in plain["differences"]),
    )
