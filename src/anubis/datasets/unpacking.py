"""Extracts archives of unknown origin into the cache: only regular files, whose names are inside the folder.

Nothing is extracted to a path that the archive names: content is stored under its digest. Links to files of the archive
become files.
"""

import bz2
import gzip
import io
import lzma
import os
import posixpath
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from anubis.contracts.datasets import Dataset, DatasetFile
from anubis.datasets.cache_folder import CacheFolder, dataset_of
from anubis.datasets.download import SHA256, Digests
from anubis.datasets.space import check_space
from anubis.datasets.transfer_control import Transfer
from anubis.model.cause import Cause
from anubis.model.errors import SourceError
from anubis.record import access

#: Maximum number of files in an archive.
MAX_FILES = 10_000_000
#: Maximum number of bytes that one read of a header may request.
_MAX_HEADER_BYTES = 1 << 20
_BUFFER = 1 << 20
_OPENERS: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZ": bz2.open,
    b"\xfd7": lzma.open,
}
_DAMAGED = (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, EOFError, ValueError, NotImplementedError)


def unpack(cache: CacheFolder, archive: Dataset, folder: Path, transfer: Transfer) -> Dataset:
    """The dataset with the files of an archive, which are stored in the cache. ``folder`` is for files under construction.

    Raises SourceError with cause DATA_ARCHIVE, StageError for a full disk, OSError.
    """
    path = cache.file(archive.files[0].sha256)
    extracted = _Extracted(cache, folder / "unpack.part", transfer)
    try:
        with path.open("rb") as stream:
            members = _zip(stream) if zipfile.is_zipfile(stream) else _tar(path)
        for name, content in members:
            extracted.add(name, content)
    except _DAMAGED as error:
        raise _refused(f"cannot be extracted: {error}") from error
    except OSError as error:
        if error.errno is None:  # gzip and bz2 raise it for damaged data
            raise _refused(f"cannot be extracted: {error}") from error
        raise
    if not extracted.files:
        raise _refused("has no files")
    return dataset_of(list(extracted.files.values()))


class _Extracted:
    """The files of an archive so far."""

    def __init__(self, cache: CacheFolder, part: Path, transfer: Transfer) -> None:
        self.files: dict[str, DatasetFile] = {}
        self._folders: set[str] = set()
        self._cache = cache
        self._part = part
        self._transfer = transfer

    def add(self, name: str, content: IO[bytes] | str) -> None:
        """Add a file with its content, or with the name of the file of which it is a link."""
        path = _inside(name)
        if path in self.files or path in self._folders or len(self.files) >= MAX_FILES:
            raise _refused(
                f"has the name {path!r} twice" if path in self.files else "has a file named as a folder"
            )
        parent = posixpath.dirname(path)
        while parent and parent not in self._folders:
            if parent in self.files:
                raise _refused(f"has a file named as the folder {parent!r}")
            self._folders.add(parent)
            parent = posixpath.dirname(parent)
        if isinstance(content, str):
            target = self.files.get(_inside(content))
            if target is None:
                raise _refused(f"links {path!r} to {content!r}, which is no earlier file of the archive")
            sha256, size = target.sha256, target.size_bytes
        else:
            sha256, size = self._stored(content)
        self.files[path] = DatasetFile(path=path, sha256=sha256, size_bytes=size)

    def _stored(self, content: IO[bytes]) -> tuple[str, int]:
        """Digest and size of a content that is now in the cache."""
        digests, size = Digests(()), 0
        with os.fdopen(access.create(str(self._part), os.O_WRONLY | os.O_TRUNC), "wb") as file:
            while data := content.read(_BUFFER):
                check_space(self._cache, len(data), self._transfer.settings)
                self._transfer.add(0)
                file.write(data)
                digests.update(data)
                size += len(data)
        sha256 = digests.result()[SHA256]
        self._cache.take(self._part, sha256)
        return sha256, size


def _inside(name: str) -> str:
    """The normalised name of a file in the folder. Raises SourceError for any other name."""
    path = posixpath.normpath(name)
    if (
        name.startswith("/")
        or path in ("", ".")
        or path.split("/")[0] == ".."
        or "\0" in path
        or "\n" in path
    ):
        raise _refused(f"has the name {name!r}, which is not that of a file in a folder")
    return path


def _zip(stream: IO[bytes]) -> Iterator[tuple[str, IO[bytes] | str]]:
    with zipfile.ZipFile(stream.name) as archive:
        for member in archive.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            if member.is_dir():
                continue
            if member.flag_bits & 1:
                raise _refused(f"has the encrypted file {member.filename!r}")
            if kind not in (0, stat.S_IFREG):
                raise _refused(f"has {member.filename!r}, which is not a regular file")
            with archive.open(member) as content:
                yield member.filename, content


def _tar(path: Path) -> Iterator[tuple[str, IO[bytes] | str]]:
    with path.open("rb") as raw:
        opener = _OPENERS.get(raw.read(2), _plain)
    with opener(path) as stream, tarfile.open(fileobj=_Bounded(stream)) as archive:
        for member in archive:
            if member.isdir():
                continue
            if member.islnk() or member.issym():
                folder = posixpath.dirname(member.name) if member.issym() else ""
                yield member.name, posixpath.join(folder, member.linkname)
            elif member.isreg() and not member.issparse() and (content := archive.extractfile(member)):
                yield member.name, content
            else:
                raise _refused(f"has {member.name!r}, which is not a regular file")
            archive.members = []  # type: ignore[attr-defined]  # it keeps all members in memory


def _plain(path: Path) -> IO[bytes]:
    return path.open("rb")


class _Bounded(io.RawIOBase):
    """A stream whose reads are bounded: a header of an archive can request any number of bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {size} bytes")
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


def _refused(problem: str) -> SourceError:
    return SourceError(f"the archive {problem}", cause=Cause.DATA_ARCHIVE)
