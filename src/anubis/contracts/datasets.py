"""Fetched datasets, and the cache that has them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from anubis.model.server import DataSource


class DatasetFile(NamedTuple):
    """One file of a dataset. A tuple: every run with a dataset of many files reads the list of all of them."""

    #: Path below the folder of the dataset; empty: the dataset is this file.
    path: str
    #: SHA-256 of the content, 64 hex digits.
    sha256: str
    size_bytes: int
    #: What the source used to identify this version of the file (an ETag, for example); empty: nothing.
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A fetched dataset: one file, or a folder."""

    #: ``sha256:<64 hex digits>``: of the content of a file, or of the list of the files of a folder.
    digest: str
    #: In the order of their paths.
    files: tuple[DatasetFile, ...]

    @property
    def is_folder(self) -> bool:
        return not (len(self.files) == 1 and not self.files[0].path)

    @property
    def size_bytes(self) -> int:
        """The bytes of all files."""
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchProgress:
    """How far the fetching of a dataset is."""

    done_bytes: int = 0
    #: None: not known (yet).
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDataset:
    """What fetching a source would transfer."""

    #: The address, without secrets.
    src: str
    #: None: the source does not know it, or did not answer.
    size_bytes: int | None = None
    #: Of these, what is in the cache.
    stored_bytes: int = 0
    #: Why the source did not answer; empty: it did.
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPlan:
    """The data of a descriptor that are to be fetched."""

    sources: tuple[PlannedDataset, ...]
    #: Space that they may use.
    free_bytes: int

    @property
    def size_bytes(self) -> int | None:
        """The size of all data; None: that of one is not known."""
        sizes = [planned.size_bytes for planned in self.sources]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def fetch_bytes(self) -> int | None:
        """Of these, what is not in the cache."""
        size = self.size_bytes
        return None if size is None else size - sum(planned.stored_bytes for planned in self.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDataset:
    """A source in the cache, as a listing shows it."""

    #: The address, without secrets.
    src: str
    #: None: it is not complete.
    dataset: Dataset | None
    #: When it was fetched, when it was last used; UTC seconds since 1970.
    fetched_s: float
    used_s: float
    #: The digest that the descriptor declares; empty: none.
    declared: str = ""
    #: The archive was extracted.
    unpacked: bool = False
    #: Of a dataset that is not complete.
    progress: FetchProgress = FetchProgress()


class Datasets(Protocol):
    """Datasets by source and by digest, shared by all runs and processes that use the same folder."""

    def fetch(self, source: DataSource, *, writable: bool) -> Dataset | FetchProgress:
        """The dataset of a source, complete and ready to be used; or how far fetching it is, without waiting for it.

        Fetching continues in another thread as long as this method is called at least once a minute. ``writable``: the
        benchmark could write to the files, so it gets copies. Raises StageError.
        """
        ...

    def folder(self, digest: str, *, writable: bool) -> Path | None:
        """The file or folder with the content of a dataset that was fetched; None: it must be fetched again.

        Checks that no benchmark has changed it.
        """
        ...

    def plan(self, source: DataSource) -> PlannedDataset:
        """What fetching a source would transfer; nothing is fetched."""
        ...

    def free_bytes(self) -> int:
        """The free space that datasets may use on the disk."""
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

    def open(self, sha256: str) -> BinaryIO:
        """The content of a stored file. Raises NotFoundError."""
        ...

    def export(self, dataset: Dataset, target: Path) -> None:
        """Copy the dataset to a path that does not exist yet."""
        ...
