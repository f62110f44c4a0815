"""Safe extraction of archives: nothing is created outside the folder, or through a link."""

import os
import tarfile
from pathlib import Path, PurePosixPath

from anubis.submission.tar_reading import FOLDER, LINK, Archive, Member

_LONGEST_NAME = 2000


def extract_member(archive: Archive, member: Member, folder: Path) -> None:
    """Extract the current member below the folder.

    Raises tarfile.TarError for a path or a link that leads outside the folder, and for a name that exists already.
    """
    name = PurePosixPath(member.name.lstrip("/"))
    if ".." in name.parts or len(os.fsencode(name)) > _LONGEST_NAME:
        raise tarfile.ExtractError(f"{member.name!r} is not the name of a file inside the folder")
    for parent in name.parents:
        if (folder / parent).is_symlink() and parent.parts:
            raise tarfile.ExtractError(f"{member.name!r} would be extracted through a link")
    path = folder / name
    try:
        if member.kind == FOLDER:
            path.mkdir(parents=True, exist_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if member.kind == LINK:
            _check_target(member, name, folder)
            path.symlink_to(member.target)
            return
        with path.open("xb") as file:
            while data := archive.read():
                file.write(data)
    except (FileExistsError, NotADirectoryError) as error:
        raise tarfile.ExtractError(f"{member.name!r} exists already") from error
    path.chmod(0o755 if member.executable else 0o644)


def _check_target(member: Member, name: PurePosixPath, folder: Path) -> None:
    inside = Path(os.path.realpath(folder))
    target = Path(os.path.realpath(inside / name.parent / member.target))
    if member.target.startswith("/") or not target.is_relative_to(inside):
        raise tarfile.ExtractError(f"{member.name!r} links to {member.target!r}, outside the folder")
