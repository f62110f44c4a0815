"""Script mode: packs a folder or file of user code into a deterministic archive, and extracts it safely."""

import contextlib
import hashlib
import io
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, cast

from anubis.model.errors import BadInputError
from anubis.submission.safe_tar import extract_member
from anubis.submission.tar_reading import FILE, FOLDER, LINK, Archive, Member

#: Limits of an extraction.
MAX_FILES = 20_000
MAX_BYTES = 2 * 1024**3

_LEFT_OUT = {"__pycache__", ".git", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


def archive(path: Path) -> tuple[str, bytes]:
    """The object key (``<sha256>.tar``) and bytes of an archive of a file or folder.

    The same content always yields the same bytes: entries are sorted and have no times, owners or umask-dependent modes.
    A file that begins with ``#!`` is executable in the archive, even if a file system or a download lost its mode.
    A folder is archived under its name, so its content is at ``$BAI_SCRIPTS_PATH/<folder>/``; a single file is at
    ``$BAI_SCRIPTS_PATH/<file>``. Version control and caches are left out. Raises BadInputError for a missing path, a
    special file, and a link to a target outside of the folder.
    """
    if not path.exists():
        raise BadInputError(f"no file or folder {path}", remedy="give --script a path that exists")
    path = path.resolve()
    return _packed(path, [path] if path.is_file() else sorted(_walk(path)), path.parent)


def archive_of_content(folder: Path) -> tuple[str, bytes]:
    """As ``archive``, of what is in a folder, so that its content is at ``$BAI_SCRIPTS_PATH/``.

    A run without a working folder runs there.
    """
    folder = folder.resolve()
    return _packed(folder, [each for each in sorted(_walk(folder)) if each != folder], folder)


def _packed(top: Path, members: Sequence[Path], root: Path) -> tuple[str, bytes]:
    """The key and bytes of an archive of members of ``top``, which are named relative to ``root``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member in members:
            _add(tar, member, top, root)
    content = buffer.getvalue()
    return f"{hashlib.sha256(content).hexdigest()}.tar", content


def _walk(folder: Path) -> list[Path]:
    entries: list[Path] = []
    for entry in folder.iterdir():
        if entry.name in _LEFT_OUT:
            continue
        if entry.is_dir() and not entry.is_symlink():
            entries.extend(_walk(entry))
        else:
            entries.append(entry)
    if not entries:
        entries.append(folder)
    return entries


def _add(tar: tarfile.TarFile, member: Path, top: Path, root: Path) -> None:
    info = tarfile.TarInfo(member.relative_to(root).as_posix())
    if member.is_symlink():
        target = _target(member)
        if not target.is_relative_to(top):
            raise BadInputError(
                f"{member} is a link to a target outside the script folder",
                remedy="copy the file into the folder",
            )
        info.type, info.linkname = tarfile.SYMTYPE, member.readlink().as_posix()
        tar.addfile(info)
    elif member.is_dir():
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(info)
    elif member.is_file():
        content = member.read_bytes()
        info.size = len(content)
        info.mode = 0o755 if member.stat().st_mode & 0o100 or content.startswith(b"#!") else 0o644
        tar.addfile(info, io.BytesIO(content))
    else:
        raise BadInputError(f"{member} is not a regular file", remedy="remove devices, sockets and pipes")


def _target(link: Path) -> Path:
    try:
        with contextlib.suppress(FileNotFoundError):
            link.stat()
    except OSError as error:
        raise BadInputError(
            f"{link} is a link that cannot be followed: {error.strerror}", remedy="remove the link"
        ) from error
    return link.resolve()


def repacked(stream: BinaryIO, out: BinaryIO) -> str:
    """Write an archive of another program as this module writes archives; the object key of what was written.

    The order of the members is kept, so the same files in the same order yield the same bytes. Raises BadInputError.
    """
    files = size = 0
    try:
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            opened = Archive(stream, foreign=True)
            for member in opened:
                files, size = files + 1, size + member.size_bytes
                _check_limits(files, size)
                tar.addfile(*_as_ours(member, opened))
    except (tarfile.TarError, ValueError) as error:
        raise BadInputError(
            f"the script archive is not valid: {error}", remedy="create it with tar"
        ) from error
    out.seek(0)
    digest = hashlib.sha256()
    while piece := out.read(1 << 20):
        digest.update(piece)
    out.seek(0)
    return f"{digest.hexdigest()}.tar"


def _as_ours(member: Member, opened: Archive) -> tuple[tarfile.TarInfo, BinaryIO | None]:
    """Header and content of a member, without times and owners."""
    info = tarfile.TarInfo(member.name)
    info.mode = 0o755 if member.executable or member.kind == FOLDER else 0o644
    info.type = member.kind
    if member.kind == LINK:
        info.linkname, info.mode = member.target, 0o644
    if member.kind != FILE:
        return info, None
    info.size = member.size_bytes
    return info, cast("BinaryIO", opened)


def _check_limits(files: int, size_bytes: int) -> None:
    if files > MAX_FILES or size_bytes > MAX_BYTES:
        raise BadInputError(
            f"the script archive contains more than {MAX_FILES} files or {MAX_BYTES >> 30} GiB",
            remedy="remove data from the script folder",
        )


def extract(stream: BinaryIO, folder: Path) -> None:
    """Extract an archive safely: no links to the outside, no devices, limited count and size.

    Raises BadInputError for any other archive; part of it may be extracted by then.
    """
    try:
        _extract(stream, folder)
    except (tarfile.TarError, ValueError) as error:
        raise BadInputError(
            f"the script archive is not valid: {error}", remedy="create it with --script"
        ) from error


def _extract(stream: BinaryIO, folder: Path) -> None:
    opened = Archive(stream)
    files = size = 0
    for member in opened:
        files, size = files + 1, size + member.size_bytes
        _check_limits(files, size)
        extract_member(opened, member, folder)
