"""The cache of fetched datasets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from anubis.model.dataset import Dataset, FetchProgress, StoredDataset
from anubis.model.server import DataSource


class Datasets(Protocol):
    """Datasets by source and by digest, shared by all runs and processes that use the same folder."""

    def fetch(self, source: DataSource, *, writable: bool) -> Dataset | FetchProgress:
        """The dataset of a source, complete and ready to be used; or how far fetching it is, without waiting for it.

        Fetching continues in another thread as long as this method is called at least once a minute. ``writable``: the
        benchmark could write to the files, so it gets copies. Raises StageError.
        """
        ...

    def folder(self, digest: str, *, writable: bool) -> Path | None:
        """The file or folder with the content of a dataset that was fetched; None: it is not (or no longer) here."""
        ...

    def find(self, ref: str = "") -> Sequence[StoredDataset]:
        """What is stored or being fetched, last used first; only what ``ref`` names: a digest, its beginning, an address."""
        ...

    def verify(self, dataset: Dataset) -> Sequence[str]:
        """Read all files of a dataset and remove those that are damaged or missing; their paths."""
        ...

    def prune(
        self, *, before_s: float, most_bytes: int | None, kept: Sequence[DataSource], dry_run: bool = False
    ) -> Sequence[StoredDataset]:
        """Delete datasets that were last used before ``before_s``, and the least recently used above ``most_bytes`` (None: no limit).

        The datasets of the sources ``kept`` remain, and those that a benchmark uses now.
        """
        ...

    def export(self, dataset: Dataset, target: Path) -> None:
        """Copy the dataset to a path that does not exist yet."""
        ...
