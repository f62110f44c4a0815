"""Records of runs of this installation."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import unquote_to_bytes, urlsplit

from anubis.client.embedded.references import find_run
from anubis.client.protocol import runs as protocol
from anubis.contracts.records import RecordKey, RoleFiles
from anubis.contracts.records import Records as AllRecords
from anubis.late import late
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.points import SampleBlock
from anubis.model.run import Run
from anubis.record import liveness
from anubis.record.environment import RecordedEnvironment, recorded
from anubis.record.layout import BENCHMARK, FIRST_RANK, STDERR, STDOUT
from anubis.sealing import sealer
from anubis.sealing.chain import Head, Kind
from anubis.sealing.sealer import ChainReport
from anubis.wiring import Installation

if TYPE_CHECKING:
    from anubis.pipeline import rank_values
    from anubis.search import following, indexing, looking, searching
    from anubis.search.following import OutputLine
    from anubis.search.query import LogPage, LogQuery
    from anubis.transfer import run_transfer
else:  # archives need tarfile and zstandard, and few commands read samples
    run_transfer = late("anubis.transfer.run_transfer")
    rank_values = late("anubis.pipeline.rank_values")
    following = late("anubis.search.following")
    indexing = late("anubis.search.indexing")
    looking = late("anubis.search.looking")
    searching = late("anubis.search.searching")


class Records(protocol.Records):
    """``Records`` (see the protocol) below the home folder."""

    def __init__(self, installation: Installation) -> None:
        self._world = installation.world
        self._home = installation.settings.home
        self._sealer = installation.sealer
        self._here = installation.records_here
        self._log_index = installation.store.log_index

    def folder(self, ref: str) -> Path:
        run = find_run(self._world.runs, ref)
        folder = self.folder_of(run)
        if folder is None and self.has(run):
            raise NotFoundError(
                f"the record of run {run.id} is not in the home folder, but in a bucket",
                remedy="read it with other commands, such as anubis logs, or write it to a file: anubis record export",
            )
        if folder is None:
            raise NotFoundError(
                f"run {run.id} has no record on this machine",
                remedy="a run has a record on the machine where it was placed",
            )
        return folder

    def folder_of(self, run: Run) -> Path | None:
        if not self.has(run):
            return None
        address = urlsplit(self._world.records.url(RecordKey(run.id, run.attempt)))
        if address.scheme != "file":
            return None
        return Path(os.fsdecode(unquote_to_bytes(address.path)))

    def has(self, run: Run) -> bool:
        is_here = run.attempt in self._here.attempts(run.id)
        if not is_here and run.attempt not in self._world.records.attempts(run.id):
            return False
        return run.placed_s is not None or not liveness.was_revoked(self.files(run))

    def files(self, run: Run, role: str = BENCHMARK, rank: int = FIRST_RANK) -> RoleFiles:
        return RoleFiles(self._world.records, RecordKey(run.id, run.attempt, role, rank))

    def replicas(self, run: Run) -> Sequence[tuple[str, int]]:
        files = self._world.records.list(run.id, run.attempt)
        return sorted({(each.key.role, each.key.rank) for each in files})

    def environment(self, run: Run) -> RecordedEnvironment | None:
        return recorded(self.files(run))

    def extract(self, ref: str) -> list[str]:
        run = find_run(self._world.runs, ref)
        if not run.status.final:
            raise BadInputError(f"run {run.id} is not final", remedy=f"wait for it: anubis watch {run.id}")
        if not self.has(run):
            self.folder(run.id)
        found = rank_values.values_of(run, self._world.records)
        if found.problem:
            raise BadInputError(
                f"the record of run {run.id} does not contain all samples: {found.problem}",
                remedy="the stored samples were not changed; measure again: anubis replay " + run.id,
            )
        self._world.runs.replace_samples(run.id, found.blocks)
        return [block.metric for block in found.blocks]

    def follow(
        self,
        ref: str,
        *,
        streams: Sequence[str] = (STDOUT, STDERR),
        role: str | None = None,
        rank: int | None = None,
    ) -> "Iterator[Sequence[OutputLine]]":
        def start(files: "looking.FilesOf", attempt: int) -> "following.RunFollower":
            return following.RunFollower(files, following.Place(attempt), streams)

        return looking.followed(
            self._world.runs,
            self._world.records,
            find_run(self._world.runs, ref),
            start,
            role=role,
            rank=rank,
        )

    def search(self, query: "LogQuery") -> "LogPage":
        world = self._world
        return searching.Searcher(world.runs, world.records, self._log_index, world.clock).page(query)

    def index(self, ref: str) -> int:
        indexer = indexing.Indexer(self._here, self._log_index)
        return indexer.rebuild(find_run(self._world.runs, ref))

    def export(self, ref: str, out: BinaryIO) -> Run:
        run = find_run(self._world.runs, ref)
        if run.status.final and self._world.records.is_pending(run.id, run.attempt):
            raise BadInputError(
                f"the record of run {run.id} is not complete in the bucket yet",
                remedy="try again when the service that has it was active for a few seconds",
            )
        run_transfer.export(run, self._world, out)
        return run

    def bring_in(self, file: Path) -> Run:
        run = run_transfer.import_archive(file, self._world, self._home, _samples_of)
        self._sealer.seal([run.id], Kind.IMPORTED)
        return run

    def seal(self) -> list[str]:
        return [entry.run_id for entry in self._sealer.seal(sealer.missing(self._sealer))]

    def compare_chain(
        self, *, known: Head | None = None, progress: Callable[[int, int], None] | None = None
    ) -> ChainReport:
        return sealer.compare(self._sealer, known=known, progress=progress)


def _samples_of(run: Run, records: AllRecords) -> Sequence[SampleBlock]:
    return rank_values.values_of(run, records).blocks
