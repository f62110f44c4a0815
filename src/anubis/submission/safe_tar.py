"""Safe extraction from tar archives: the filter ``data`` of PEP 706, also for Python before 3.11.4."""

import os
import tarfile
from pathlib import Path, PurePosixPath


def extract_member(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Extract one member below the folder. Raises tarfile.TarError for paths outside of it and for devices."""
    if hasattr(tarfile, "data_filter"):
        tar.extract(member, folder, filter="data")
    else:
        extract_checked(tar, member, folder)


def extract_checked(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Replacement for older Python versions; stricter, because nothing is extracted through a link."""
    name = PurePosixPath(member.name.lstrip("/"))
    if ".." in name.parts:
        raise tarfile.ExtractError(f"{member.name!r} would be extracted outside the folder")
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        raise tarfile.ExtractError(f"{member.name!r} is a special file")
    for parent in name.parents:
        if (folder / parent).is_symlink() and parent.parts:
            raise tarfile.ExtractError(f"{member.name!r} would be extracted through a link")
    if member.issym() or member.islnk():
        _check_target(member, name, folder)
    member.name = str(name)
    member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    tar.extract(member, folder)


def _check_target(member: tarfile.TarInfo, name: PurePosixPath, folder: Path) -> None:
    start = name.parent if member.issym() else PurePosixPath()
    inside = Path(os.path.realpath(folder))
    target = Path(os.path.realpath(inside / start / member.linkname))
    if member.linkname.startswith("/") or not target.is_relative_to(inside):
        raise tarfile.ExtractError(f"{member.name!r} links to {member.linkname!r}, outside the folder")
