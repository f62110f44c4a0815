"""Packs the record of one attempt into one compressed file, and unpacks it.

At any time either the complete folder or the complete file exists under its name, so killing the process loses no data.
The caller provides the compression, because the standard library has none that is suitable for logs.
"""

from __future__ import annotations

import os
import shutil
import tarfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Callable, ContextManager

    #: Opens a stream that compresses into, or decompresses from, a file.
    Codec = Callable[[IO[bytes]], ContextManager[IO[bytes]]]

SUFFIX = ".tar.zst"
#: Prefix of the names of folders and files that are incomplete, or about to be deleted.
UNFINISHED = "."


def packed(folder: str) -> str:
    """The path of the packed file of a folder."""
    return folder + SUFFIX


def pack(folder: str, compressed: Codec) -> int:
    """Replace a folder by its packed file; returns the bytes freed. Links, sockets and pipes are left out.

    An existing file is replaced: the folder may have grown since it was unpacked.
    """
    file, new = packed(folder), _unfinished(folder)
    before = _size(folder)
    try:
        with open(new, "xb") as stream:
            with compressed(stream) as out:
                _write(folder, out)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(new, file)
    finally:
        if os.path.exists(new):
            os.unlink(new)
    old = _unfinished(folder)
    os.rename(folder, old)
    shutil.rmtree(old)
    return before - os.stat(file).st_size


def unpack(folder: str, decompressed: Codec) -> bool:
    """Create the folder from its packed file, which is kept; False if there is no file or the folder exists."""
    file = packed(folder)
    if os.path.exists(folder) or not os.path.exists(file):
        return False
    new = _unfinished(folder)
    os.mkdir(new)
    try:
        with open(file, "rb") as stream:
            _read(decompressed(stream), new)
        try:
            os.rename(new, folder)
        except OSError:  # another process has unpacked it meanwhile
            pass
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return True


def _write(folder: str, out: IO[bytes]) -> None:
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        tar.add(folder, arcname=".", filter=_plain)


def _read(opened: ContextManager[IO[bytes]], folder: str) -> None:
    with opened as content:
        _extract_all(content, folder)


def _extract_all(content: IO[bytes], folder: str) -> None:
    with tarfile.open(fileobj=content, mode="r|") as tar:
        for member in tar:
            _extract(tar, member, folder)


def _unfinished(folder: str) -> str:
    """A new path in the same parent folder whose name is not the name of an attempt."""
    parent, name = os.path.split(folder)
    return os.path.join(parent, f"{UNFINISHED}{name}-{os.urandom(8).hex()}")


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Keep folders and files, without owners. Times are kept, because logs without an index use them."""
    if not (member.isreg() or member.isdir()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: str) -> None:
    """Unpack a file or folder. Raises tarfile.TarError for a member that ``pack`` cannot have written."""
    parts = member.name.split("/")
    if os.path.isabs(member.name) or ".." in parts or not (member.isreg() or member.isdir()):
        raise tarfile.ExtractError(f"{member.name!r} is not a valid member of a packed record")
    path = os.path.join(folder, member.name)
    content = tar.extractfile(member)
    if content is None:
        os.makedirs(path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "xb") as file:
        shutil.copyfileobj(content, file, 1 << 20)
    os.chmod(path, member.mode & 0o755 | 0o600)
    os.utime(path, (member.mtime, member.mtime))


def _size(folder: str) -> int:
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            size += 0 if os.path.islink(path) else os.lstat(path).st_size
    return size
