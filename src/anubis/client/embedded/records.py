"""Records of runs of this installation."""

from pathlib import Path
from typing import BinaryIO

from anubis.client.embedded.references import find_run
from anubis.client.protocol import runs as protocol
from anubis.model.errors import NotFoundError
from anubis.model.run import Run
from anubis.transfer import run_transfer
from anubis.wiring import Installation


class Records(protocol.Records):
    """``Records`` (see the protocol) below the home folder."""

    def __init__(self, installation: Installation) -> None:
        self._world = installation.world
        self._home = installation.settings.home

    def folder(self, ref: str) -> Path:
        run = find_run(self._world.runs, ref)
        folder = self.folder_of(run)
        if not folder.exists():
            raise NotFoundError(
                f"run {run.id} has no record on this machine", remedy="a run leaves one once it was placed"
            )
        return folder

    def folder_of(self, run: Run) -> Path:
        return self._world.records.folder(run.id, run.attempt)

    def export(self, ref: str, out: BinaryIO) -> Run:
        run = find_run(self._world.runs, ref)
        run_transfer.export(run, self._world, out)
        return run

    def bring_in(self, file: Path) -> Run:
        return run_transfer.import_archive(file, self._world, self._home)
