"""Records of runs of this installation."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import unquote_to_bytes, urlsplit

from anubis.client.embedded.references import find_run
from anubis.client.protocol import runs as protocol
from anubis.contracts.records import RecordKey, RoleFiles
from anubis.late import late
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.run import Run
from anubis.record.environment import RecordedEnvironment, recorded
from anubis.wiring import Installation

if TYPE_CHECKING:
    from anubis.pipeline import extraction, summarise
    from anubis.transfer import run_transfer
else:  # archives need tarfile and zstandard, and few commands read samples
    run_transfer = late("anubis.transfer.run_transfer")
    extraction = late("anubis.pipeline.extraction")
    summarise = late("anubis.pipeline.summarise")


class Records(protocol.Records):
    """``Records`` (see the protocol) below the home folder."""

    def __init__(self, installation: Installation) -> None:
        self._world = installation.world
        self._home = installation.settings.home

    def folder(self, ref: str) -> Path:
        run = find_run(self._world.runs, ref)
        folder = self.folder_of(run)
        if folder is None:
            raise NotFoundError(
                f"run {run.id} has no record on this machine",
                remedy="a run has a record on the machine where it was placed",
            )
        return folder

    def folder_of(self, run: Run) -> Path | None:
        if run.attempt not in self._world.records.attempts(run.id):
            return None
        address = urlsplit(self._world.records.url(RecordKey(run.id, run.attempt)))
        return Path(os.fsdecode(unquote_to_bytes(address.path))) if address.scheme == "file" else None

    def files(self, run: Run) -> RoleFiles:
        return RoleFiles(self._world.records, RecordKey(run.id, run.attempt))

    def environment(self, run: Run) -> RecordedEnvironment | None:
        return recorded(self.files(run))

    def extract(self, ref: str) -> list[str]:
        run = find_run(self._world.runs, ref)
        if not run.status.final:
            raise BadInputError(f"run {run.id} is not final", remedy=f"wait for it: anubis watch {run.id}")
        self.folder(run.id)
        found = extraction.extracted(self._world.records, RecordKey(run.id, run.attempt))
        if found.problem:
            raise BadInputError(
                f"the record of run {run.id} does not contain all samples: {found.problem}",
                remedy="the stored samples were not changed; measure again: anubis replay " + run.id,
            )
        blocks, _ = summarise.in_declared_units(run.descriptor.output.metrics, found.blocks)
        self._world.runs.replace_samples(run.id, blocks)
        return [block.metric for block in blocks]

    def export(self, ref: str, out: BinaryIO) -> Run:
        run = find_run(self._world.runs, ref)
        run_transfer.export(run, self._world, out)
        return run

    def bring_in(self, file: Path) -> Run:
        return run_transfer.import_archive(file, self._world, self._home)
