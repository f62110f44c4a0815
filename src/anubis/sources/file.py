"""Source ``file``: a file or folder of this machine."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from anubis.contracts.source import ByteStream, RemoteFile
from anubis.contracts.world import Surroundings
from anubis.model.cause import Cause
from anubis.model.errors import SourceError
from anubis.settings import load, setting


def _paths(text: str) -> tuple[str, ...]:
    paths = tuple(os.path.normpath(path.strip()) for path in text.split(":"))
    if not all(path.startswith("/") for path in paths):
        raise ValueError("a list of absolute paths, separated by colons")
    return paths


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """Settings of this source."""

    #: Folders whose files descriptors may name as data; paths, separated by colons; `/`, and none where benchmarks run in a sandbox
    folders: tuple[str, ...] = setting("ANUBIS_DATA_FOLDERS", default=("/",), read=_paths)


def build(surroundings: Surroundings) -> "FileSource":
    """Build the source; its entry point names this function."""
    environ = surroundings.environ
    is_closed = surroundings.settings.sandbox == "on" and not environ.get("ANUBIS_DATA_FOLDERS", "").strip()
    return FileSource(load(FileSettings, environ, **({"folders": ()} if is_closed else {})))


class FileSource:
    """Reads files of this machine; links to files are followed, but not out of the folders of the settings."""

    def __init__(self, settings: FileSettings | None = None) -> None:
        self._folders = [os.path.realpath(path) for path in (settings or FileSettings()).folders]

    def refusal(self, url: str) -> str:
        """See the contract."""
        try:
            path = _path(url)
        except SourceError:
            return ""
        return "" if self._contain(path) else _outside(path)

    def _contain(self, path: Path) -> bool:
        real = os.path.realpath(path)
        return any(f"{real}/".startswith(f"{folder.rstrip('/')}/") for folder in self._folders)

    def _check(self, path: Path, shown: Path | None = None) -> None:
        if not self._contain(path):
            raise SourceError(_outside(shown or path), cause=Cause.DATA_ADDRESS)

    def find(self, url: str, version: str = "") -> tuple[RemoteFile, ...] | None:
        top = _path(url)
        self._check(top)
        try:
            files = tuple(_files(top))
            for file in files:
                self._check(Path(file.url))
        except OSError as error:
            raise _refused(top, error) from error
        if len(files) == 1 and not files[0].path and files[0].version == version:
            return None
        return files

    def open(self, file: RemoteFile, start: int, stop: int | None) -> ByteStream:
        path = Path(file.url)
        try:
            stream = path.open("rb", buffering=0)
        except OSError as error:
            raise _refused(path, error) from error
        if _version(os.fstat(stream.fileno())) != file.version:  # a link was replaced, for example
            stream.close()
            raise SourceError(f"{path} was changed while it was fetched", cause=Cause.DATA_CHANGED)
        stream.seek(start)
        return _Part(stream, stop)


def _outside(path: Path) -> str:
    return f"{path} is not in a folder whose files may be read as data"


class _Part:
    """The bytes of an open file from its position to before ``stop``."""

    def __init__(self, stream: BinaryIO, stop: int | None) -> None:
        self._stream = stream
        self._left = None if stop is None else stop - stream.tell()

    def read1(self, size: int, /) -> bytes:
        data = self._stream.read(size if self._left is None else min(size, self._left))
        if self._left is not None:
            self._left -= len(data)
        return data

    def close(self) -> None:
        self._stream.close()


def _path(url: str) -> Path:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise SourceError(
            f"{url} does not name a file of this machine",
            cause=Cause.DATA,
            remedy="write file:// and an absolute path: file:///data/train",
        )
    return Path(unquote(parts.path))


def _files(top: Path) -> list[RemoteFile]:
    if not top.is_dir():
        return [_file(top, "")]
    found: list[RemoteFile] = []
    for folder, folders, names in os.walk(top, onerror=_raise):
        if links := [name for name in folders if Path(folder, name).is_symlink()]:
            raise SourceError(
                f"{folder}/{links[0]} is a link to a folder, which is not followed", cause=Cause.DATA
            )
        for name in names:
            path = Path(folder, name)
            found.append(_file(path, path.relative_to(top).as_posix()))
    return found


def _raise(error: OSError) -> None:
    raise error


def _file(path: Path, name: str) -> RemoteFile:
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise SourceError(f"{path} is neither a file nor a folder", cause=Cause.DATA)
    return RemoteFile(
        url=str(path), path=name, size_bytes=found.st_size, version=_version(found), ranges=True
    )


def _version(found: os.stat_result) -> str:
    return f"{found.st_dev}-{found.st_ino}-{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"


def _refused(path: Path, error: OSError) -> SourceError:
    cause = Cause.DATA_FORBIDDEN if isinstance(error, PermissionError) else Cause.DATA
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        cause = Cause.DATA_NOT_FOUND
    return SourceError(f"{path}: {error.strerror}", cause=cause)
