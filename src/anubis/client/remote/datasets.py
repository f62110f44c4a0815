"""The datasets that a service has fetched."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from anubis.api.datasets import dataset_from_json
from anubis.client import resuming
from anubis.client.protocol import tools as protocol
from anubis.client.remote.connection import ServiceConnection
from anubis.contracts.datasets import DatasetFile, StoredDataset
from anubis.model.errors import BadInputError, StoreError, disk_error


class Datasets(protocol.Datasets):
    """``Datasets`` (see the protocol) over HTTP."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def find(self) -> Sequence[StoredDataset]:
        return list(map(dataset_from_json, self._connection.get("datasets")["datasets"]))

    def get(self, ref: str) -> StoredDataset:
        (found,) = self._connection.get("datasets", [("ref", ref)])["datasets"]
        return dataset_from_json(found)

    def verify(self, ref: str) -> Sequence[str]:
        damaged: list[str] = self._connection.post("datasets/verify", {"ref": ref})["damaged"]
        return damaged

    def prune(
        self, *, before_s: float, most_bytes: int | None = None, dry_run: bool = False
    ) -> Sequence[StoredDataset]:
        body = {"before_s": before_s, "most_bytes": most_bytes, "dry_run": dry_run}
        return list(map(dataset_from_json, self._connection.post("datasets/prune", body)["datasets"]))

    def export(self, ref: str, target: Path) -> None:
        dataset = self.get(ref).dataset
        if dataset is None:
            raise BadInputError(f"{ref} is not complete", remedy="wait until a run has fetched it")
        if target.exists() or target.is_symlink():
            raise BadInputError(f"{target} exists already", remedy="name a path that does not exist")
        # What an interrupted command transferred is in a folder beside the target.
        part = target.with_name(f".{target.name}.{dataset.digest.rpartition(':')[2][:16]}.part")
        try:
            whole = part / "whole"
            whole.mkdir(parents=True, exist_ok=True)
            for file in dataset.files:
                self._fetch(file, part, whole / _path(file))
            (whole if dataset.is_folder else whole / _path(dataset.files[0])).rename(target)
            shutil.rmtree(part)
        except OSError as error:
            raise disk_error(f"the dataset cannot be copied to {target}", error) from error

    def _fetch(self, file: DatasetFile, part: Path, target: Path) -> None:
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = part / file.sha256
        unfinished.touch()

        def pieces(offset: int) -> Iterator[bytes]:
            return self._connection.pieces(f"datasets/files/{file.sha256}", [("offset", str(offset))])

        resuming.fetched(pieces, unfinished, size_bytes=file.size_bytes, sha256=file.sha256)
        unfinished.replace(target)


def _path(file: DatasetFile) -> Path:
    """Path of a file in a dataset. Raises StoreError for one outside of the dataset."""
    path = PurePosixPath(file.path or "file")
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise StoreError(
            f"the service names a file outside of its dataset: {file.path}", remedy="do not use this service"
        )
    return Path(path)
