"""Permissions of new files and folders below a home folder, whatever the umask.

They are private to their user. In a shared folder, which has the setgid bit and is writable for its group, they are
accessible for the group too, so that sharing the home folder shares all that is created in it.
"""

from __future__ import annotations

import os
import stat

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
SHARED_FILE, SHARED_FOLDER = 0o660, 0o2770
_SHARED = stat.S_ISGID | stat.S_IRWXG


def is_shared(folder: int | str) -> bool:
    """Whether new files in this folder (a path, or an open folder) are for its group too."""
    return os.stat(folder).st_mode & _SHARED == _SHARED


def create(path: str, flags: int, dir_fd: int | None = None) -> int:
    """Open a file, which is created if it is missing; returns its descriptor."""
    file = os.open(path, flags | os.O_CREAT, PRIVATE_FILE, dir_fd=dir_fd)
    try:
        found = os.fstat(file)
        shared = is_shared((os.path.dirname(path) or ".") if dir_fd is None else dir_fd)
        if shared and found.st_uid == os.geteuid() and found.st_mode & SHARED_FILE != SHARED_FILE:
            os.fchmod(file, SHARED_FILE)
    except BaseException:
        os.close(file)
        raise
    return file


def make_folder(path: str) -> None:
    """Create a folder and its parents; does nothing if it exists."""
    parent = os.path.dirname(path) or "."
    if parent != path and not os.path.isdir(parent):
        make_folder(parent)
    try:
        os.mkdir(path, PRIVATE_FOLDER)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    if is_shared(parent):
        os.chmod(path, SHARED_FOLDER)


def is_at(path: str, file: int) -> bool:
    """Whether this path still names the file of the descriptor, and not a link or another file."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(file))
    except OSError:
        return False
