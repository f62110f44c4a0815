"""Sources, from which datasets are fetched."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """One file at a source."""

    #: Where the source finds the file.
    url: str
    #: Path below the folder of the dataset; empty: the dataset is this file.
    path: str = ""
    #: None: the source does not know the size.
    size_bytes: int | None = None
    #: Identifies the content (an ETag, a time of change); empty: the source has no such thing.
    version: str = ""
    #: The source can send a part of the file.
    ranges: bool = False


class ByteStream(Protocol):
    """The bytes of a file, or of a part of it."""

    def read1(self, size: int, /) -> bytes:
        """Up to ``size`` bytes, as soon as some arrived; none at the end. Raises SourceError, OSError."""
        ...

    def close(self) -> None: ...


class Source(Protocol):
    """Reads files at addresses. The name of its entry point is the scheme of its addresses.

    Methods are called from several threads at the same time. They raise SourceError, which says whether a repetition
    may succeed. The cache does everything else: parallel requests, resumption, retries, digests, files.
    """

    def find(self, url: str, version: str = "") -> tuple[RemoteFile, ...] | None:
        """The files at an address, with their sizes. None: the address still has this ``version``."""
        ...

    def open(self, file: RemoteFile, start: int, stop: int | None) -> ByteStream:
        """The bytes from ``start`` to before ``stop`` (None: the end).

        Raises a SourceError with cause DATA_CHANGED if the source no longer has the version of ``file``.
        """
        ...


@runtime_checkable
class Restricted(Protocol):
    """A source that the operator restricts to some addresses. Optional."""

    def refusal(self, url: str) -> str:
        """Why an address must not be read, as far as it says so itself; empty: nothing is known against it."""
        ...


def shown_address(url: str) -> str:
    """The address without user, password, query and fragment, which may be secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid address"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
