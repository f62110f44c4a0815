"""Records of runs of a service."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from anubis.api.runs import run_from_json
from anubis.api.search.found import page_from_json, query_to_params
from anubis.client import resuming
from anubis.client.protocol import runs as protocol
from anubis.client.remote import following
from anubis.client.remote.connection import ServiceConnection
from anubis.model.errors import NotFoundError
from anubis.model.run import Run
from anubis.record.environment import RecordedEnvironment, recorded
from anubis.record.files import FileState
from anubis.record.layout import BENCHMARK, FIRST_RANK, STDERR, STDOUT
from anubis.sealing.chain import BrokenChainError, Head
from anubis.sealing.sealer import ChainReport, Damaged
from anubis.search.following import OutputLine, line_from_json
from anubis.search.query import LogPage, LogQuery

#: Most bytes that are read with one request.
_PIECE = 4 << 20


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """The files of one role and rank, as ``Files`` for the readers in ``anubis.record``."""

    connection: ServiceConnection
    #: Path of the files below the prefix.
    path: str

    def read(self, file: str, offset: int, length: int) -> bytes:
        """See ``Files``."""
        found = bytearray()
        while length > len(found):
            wanted = min(_PIECE, length - len(found))
            params = [("offset", str(offset + len(found))), ("length", str(wanted))]
            data, _ = self.connection.content(f"{self.path}/{quote(file)}", params)
            found += data
            if len(data) < wanted:
                break
        return bytes(found)

    def state(self, file: str) -> FileState | None:
        """See ``Files``."""
        _, headers = self.connection.content(f"{self.path}/{quote(file)}", [("length", "0")])
        if "File-Size" not in headers:
            return None
        return FileState(int(headers["File-Size"]), float(headers["File-Modified"]))


class Records(protocol.Records):
    """``Records`` (see the protocol) over HTTP: their folders are on the machine of the service."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def folder(self, ref: str) -> Path:
        run = run_from_json(self._connection.get(f"runs/{quote(ref, safe='')}"))
        raise NotFoundError(
            f"run {run.id} has no record on this machine: the service {self._connection.url} stores it",
            remedy=f"export it: anubis record export {run.id}",
        )

    def folder_of(self, run: Run) -> Path | None:  # noqa: ARG002  no run has one
        return None

    def has(self, run: Run) -> bool:
        stored: bool = self._listed(run)["stored"]
        return stored

    def files(self, run: Run, role: str = BENCHMARK, rank: int = FIRST_RANK) -> RemoteFiles:
        return RemoteFiles(self._connection, f"runs/{run.id}/record/{run.attempt}/{quote(role)}/{rank}")

    def replicas(self, run: Run) -> Sequence[tuple[str, int]]:
        return sorted({(each["role"], each["rank"]) for each in self._listed(run)["files"]})

    def environment(self, run: Run) -> RecordedEnvironment | None:
        return recorded(self.files(run))

    def extract(self, ref: str) -> list[str]:
        found: list[str] = self._connection.post(f"runs/{quote(ref, safe='')}/extraction", {})["metrics"]
        return found

    def follow(
        self,
        ref: str,
        *,
        streams: Sequence[str] = (STDOUT, STDERR),
        role: str | None = None,
        rank: int | None = None,
    ) -> Iterator[Sequence[OutputLine]]:
        run_id = run_from_json(self._connection.get(f"runs/{quote(ref, safe='')}")).id
        params = [("stream", stream) for stream in streams]
        params += [("role", role)] if role is not None else []
        params += [("rank", str(rank))] if rank is not None else []
        for data in following.resumed(self._connection, f"runs/{run_id}/logs", params):
            if "lines" in data:
                yield [line_from_json(data["attempt"], each) for each in data["lines"]]

    def search(self, query: LogQuery) -> LogPage:
        return page_from_json(self._connection.get("logs", list(query_to_params(query))))

    def index(self, ref: str) -> int:
        done: int = self._connection.post(f"runs/{quote(ref, safe='')}/index", {})["bytes"]
        return done

    def export(self, ref: str, out: BinaryIO) -> Run:
        run = run_from_json(self._connection.get(f"runs/{quote(ref, safe='')}"))
        # The archive of a run always has the same bytes.
        resuming.copied(lambda: self._connection.pieces(f"runs/{run.id}/archive"), out)
        return run

    def bring_in(self, file: Path) -> Run:
        with file.open("rb") as stream:
            return run_from_json(self._connection.upload("POST", "archives", stream))

    def seal(self) -> list[str]:
        ids: list[str] = self._connection.post("seals", {})["ids"]
        return ids

    def compare_chain(
        self,
        *,
        known: Head | None = None,
        progress: Callable[[int, int], None] | None = None,  # noqa: ARG002  the service answers at the end
    ) -> ChainReport:
        body = {"head": None if known is None else str(known)}
        answer = self._connection.post("seals/comparison", body)
        if answer["broken"] is not None:
            raise BrokenChainError(answer["broken"])
        return ChainReport(
            head=Head.of(answer["head"]),
            unchanged=answer["unchanged"],
            purged=answer["purged"],
            damaged=tuple(
                Damaged(run_id=each["run_id"], changed=tuple(each["changed"])) for each in answer["damaged"]
            ),
            unsealed=tuple(answer["unsealed"]),
        )

    def _listed(self, run: Run) -> Any:
        return self._connection.get(f"runs/{run.id}/record", [("attempt", str(run.attempt))])
