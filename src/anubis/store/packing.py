"""The record of one attempt as one compressed file, and back.

At every moment either the folder is whole under its name or the file is: whatever is killed in between loses nothing.
"""

import contextlib
import os
import shutil
import tarfile
from pathlib import Path

import zstandard

from anubis.submission.safe_tar import extract_member

SUFFIX = ".tar.zst"
_LEVEL = 9


def packed(folder: Path) -> Path:
    """Where the file of a folder is, or will be."""
    return folder.with_name(folder.name + SUFFIX)


def pack(folder: Path) -> int:
    """Replace a folder by its file; the bytes that were freed. Links and pipes stay behind."""
    file = packed(folder)
    before = _size(folder)
    if not file.exists():
        new = _beside(folder)
        try:
            with new.open("xb") as stream:
                compressor = zstandard.ZstdCompressor(level=_LEVEL)
                with (
                    compressor.stream_writer(stream, closefd=False) as out,
                    tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as tar,
                ):
                    tar.add(folder, arcname=".", filter=_plain)
                stream.flush()
                os.fsync(stream.fileno())
            new.replace(file)
        finally:
            new.unlink(missing_ok=True)
    old = _beside(folder)
    folder.rename(old)
    shutil.rmtree(old)
    return before - file.stat().st_size


def unpack(folder: Path) -> None:
    """Make the folder out of its file, which stays; nothing where there is no file, or the folder is there."""
    file = packed(folder)
    if folder.exists() or not file.exists():
        return
    new = _beside(folder)
    new.mkdir()
    try:
        with (
            file.open("rb") as stream,
            zstandard.ZstdDecompressor().stream_reader(stream) as content,
            tarfile.open(fileobj=content, mode="r|") as tar,
        ):
            for member in tar:
                extract_member(tar, member, new)
        with contextlib.suppress(OSError):  # somebody else was first
            new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _beside(folder: Path) -> Path:
    """A name in the same folder that nobody takes for a record."""
    return folder.with_name(f".{folder.name}-{os.urandom(8).hex()}")


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Folders and files without owners; times stay, for logs fall back on them."""
    if not (member.isreg() or member.isdir()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
