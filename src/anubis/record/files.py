"""Access to the files of one record, wherever they are stored."""

from __future__ import annotations

import io
import json
import os
import stat
from collections import namedtuple

from anubis.record import access
from anubis.record.layout import PART

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, NamedTuple, Protocol

    class FileState(NamedTuple):
        """Size and time of the last change of a file."""

        size_bytes: int
        #: UTC seconds.
        modified_s: float

    class Files(Protocol):
        """The files of one role and rank."""

        def read(self, file: str, offset: int, length: int) -> bytes:
            """Up to ``length`` bytes; fewer only at the end of the file, none where there is no file."""
            ...

        def state(self, file: str) -> FileState | None:
            """Size and time of the last change; None where there is no file."""
            ...

else:
    Files = object
    FileState = namedtuple("FileState", "size_bytes modified_s")

#: Bytes read at once where a whole file is read.
READ_BYTES = 1 << 20


class FolderFiles:
    """``Files`` in a folder of this machine. Symbolic links in it are not followed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def read(self, file: str, offset: int, length: int) -> bytes:
        """See ``Files``."""
        try:
            opened = open_below(self.folder, file, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            if is_absent(error):
                return b""
            raise
        try:
            return read_at(opened, offset, length)
        finally:
            os.close(opened)

    def state(self, file: str) -> FileState | None:
        """See ``Files``."""
        folder = -1
        try:
            folder, name = _folder_below(self.folder, file)
            found = os.lstat(name, dir_fd=folder)
        except OSError as error:
            if is_absent(error):
                return None
            raise
        finally:
            if folder >= 0:
                os.close(folder)
        return FileState(found.st_size, found.st_mtime) if stat.S_ISREG(found.st_mode) else None

    def problem(self, file: str) -> str:
        """Why this name cannot be a file of the record; empty for a regular file, and where there is none."""
        if os.path.islink(self.folder) or (os.path.lexists(self.folder) and not os.path.isdir(self.folder)):
            return "the record is not a folder"
        try:
            mode = os.lstat(f"{self.folder}/{file}").st_mode
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"{file} cannot be read: {error.strerror}"
        return "" if stat.S_ISREG(mode) else f"{file} is not a regular file"


def open_below(folder: str, file: str, flags: int) -> int:
    """Open a file below a folder; no link in the name of the file is followed."""
    inside, name = _folder_below(folder, file)
    try:
        if flags & os.O_CREAT:
            return access.create(name, flags | os.O_NOFOLLOW, dir_fd=inside)
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=inside)
    finally:
        os.close(inside)


def _folder_below(folder: str, file: str) -> tuple[int, str]:
    """The folder that holds a file below ``folder``, open, and the file's name in it."""
    *parts, name = file.split("/")
    inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for part in parts:
        outside = inside
        try:
            inside = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=outside)
        finally:
            os.close(outside)
    return inside, name


def is_absent(error: OSError) -> bool:
    """Whether opening failed because there is no regular file of that name."""
    import errno

    return error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.ENXIO}


def read_at(opened: int, offset: int, length: int) -> bytes:
    """Up to ``length`` bytes at this offset of a file descriptor; none unless it is a regular file."""
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        return b""
    data = os.pread(opened, length, offset)
    while data and len(data) < length:
        more = os.pread(opened, length - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data


class FileReader(io.RawIOBase):
    """A file of a record as a stream. ``reader`` buffers it."""

    def __init__(self, files: Files, file: str, start: int = 0) -> None:
        self._files = files
        self._file = file
        self._at = start

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with the bytes after those of the previous call."""
        data = self._files.read(self._file, self._at, len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def reader(files: Files, file: str, start: int = 0) -> io.BufferedReader:
    """A stream over a file from this offset to its end; empty where there is no file. Closing it is optional."""
    return io.BufferedReader(FileReader(files, file, start), READ_BYTES)


def read_whole(files: Files, file: str) -> bytes:
    """The content of a file that is replaced atomically, read in one call: a second call may read newer content."""
    length = 1 << 16
    while True:
        data = files.read(file, 0, length)
        if len(data) < length:
            return data
        length *= 8


def read_json(files: Files, file: str) -> Mapping[str, Any]:
    """The object in a JSON file of at most ``READ_BYTES``; empty where the file is missing or damaged."""
    try:
        content = json.loads(files.read(file, 0, READ_BYTES))
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def replace(folder: str, file: str, data: bytes, *, durable: bool = False) -> None:
    """Replace a file of a local folder atomically: readers see the old content or the new one.

    With ``durable`` the content is on the disk when this returns.
    """
    part = f"{folder}/{file}-{os.urandom(8).hex()}{PART}"
    opened = access.create(part, os.O_WRONLY | os.O_EXCL)
    try:
        try:
            write_all(opened, data)
            if durable:
                os.fsync(opened)
        finally:
            os.close(opened)
        os.replace(part, f"{folder}/{file}")
    except OSError:
        os.unlink(part)
        raise
    if durable:
        sync(folder)


def sync(path: str) -> None:
    """Sync a file or folder to the disk; does nothing for other kinds."""
    mode = os.lstat(path).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def write_all(opened: int, data: bytes) -> None:
    """Write all of the data to a file descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(opened, view) :]
