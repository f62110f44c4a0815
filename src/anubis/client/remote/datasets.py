"""The datasets that a service has fetched."""

from collections.abc import Sequence
from pathlib import Path

from anubis.api.datasets import dataset_from_json
from anubis.client.protocol import tools as protocol
from anubis.client.remote.connection import ServiceConnection, unavailable
from anubis.contracts.datasets import StoredDataset


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

    def export(self, ref: str, target: Path) -> None:  # noqa: ARG002  not possible
        raise unavailable(self._connection, "copying a dataset to this machine")
