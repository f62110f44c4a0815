"""Datasets as they are stored after they were fetched."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFile:
    """One file of a dataset."""

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
