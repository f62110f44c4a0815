"""Datasets as files and folders that benchmarks read: copies, or hard links where a benchmark cannot write to them.

A copy shares its blocks with the cache on file systems that can do that (Btrfs, XFS). What a benchmark changes is
noticed by the sizes, times and inode numbers of the files, and the tree is built again.
"""

import contextlib
import errno
import os
import shutil
from array import array
from collections.abc import Sequence
from pathlib import Path

from anubis.contracts.datasets import Dataset
from anubis.datasets.cache_folder import CacheFolder, boot_id
from anubis.record import access

#: Everyone may read trees: the home folder is private, but the user in a container may be another one.
_FOLDER, _FILE = 0o555, 0o444
_NO_LINK = {errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EOPNOTSUPP}
_COPY_BYTES = 1 << 30


def is_intact(cache: CacheFolder, dataset: Dataset, *, writable: bool) -> bool:
    """Whether the tree of a dataset exists and is unchanged."""
    tree = cache.tree(dataset.digest, writable=writable)
    try:
        return _stat_file(tree).read_bytes() == _state(tree, dataset, writable=writable)
    except (FileNotFoundError, NotADirectoryError):
        return False


def is_built(tree: Path) -> bool:
    """Whether a tree exists and was not found damaged."""
    return _stat_file(tree).exists()


def mark_damaged(tree: Path) -> None:
    """Note that the tree must be built again."""
    _stat_file(tree).unlink(missing_ok=True)


def build(cache: CacheFolder, dataset: Dataset, *, writable: bool) -> None:
    """Make the tree of a dataset from the files of the cache; replaces a damaged one. Raises OSError."""
    tree = cache.tree(dataset.digest, writable=writable)
    new = tree.with_name(f".new-{os.urandom(8).hex()}")
    try:
        names = _names(new, dataset)
        for parent in sorted(_parents(names, str(new))) if dataset.is_folder else ():
            access.make_folder(parent)
        for file, name in zip(dataset.files, names, strict=True):
            _place(cache.file(file.sha256), name, writable=writable)
        for folder in _opened(new):
            folder.chmod(_FOLDER)
        remove(tree)
        new.rename(tree)
    finally:
        remove(new)
    _write_state(tree, _state(tree, dataset, writable=writable))


def _write_state(tree: Path, state: bytes) -> None:
    part = _stat_file(tree).with_name(f".state-{os.urandom(8).hex()}")
    with os.fdopen(access.create(str(part), os.O_WRONLY | os.O_EXCL), "wb") as file:
        file.write(state)
    part.replace(_stat_file(tree))


def remove(tree: Path) -> None:
    """Delete a tree, although its folders are read-only; no error if it does not exist."""
    mark_damaged(tree)
    if not tree.is_dir() or tree.is_symlink():
        tree.unlink(missing_ok=True)
        return
    aside = tree.with_name(f".old-{os.urandom(8).hex()}")
    tree.rename(aside)  # a benchmark must not find a part of it
    _opened(aside)
    shutil.rmtree(aside)


def copy(source: Path, target: Path | str) -> None:
    """Copy a file; the copy shares the blocks of the original if the file system can do that. Raises OSError."""
    with (
        source.open("rb") as read,
        os.fdopen(access.create(str(target), os.O_WRONLY | os.O_EXCL), "wb") as new,
    ):
        if hasattr(os, "copy_file_range"):
            with contextlib.suppress(OSError):
                while os.copy_file_range(read.fileno(), new.fileno(), _COPY_BYTES):
                    pass
        read.seek(new.seek(0, os.SEEK_CUR))
        shutil.copyfileobj(read, new, 1 << 20)


def _place(source: Path, target: str, *, writable: bool) -> None:
    if not writable:
        try:
            os.link(source, target)
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
        else:
            return
    copy(source, target)
    os.chmod(target, _FILE)  # noqa: PTH101


def _opened(top: Path) -> list[Path]:
    """Make the folder and all below it writable; they can be made read-only again in the returned order."""
    if not top.is_dir() or top.is_symlink():
        return []
    found = [top]
    for folder in found:
        folder.chmod(access.PRIVATE_FOLDER)
        found += [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    return found[::-1]


def _state(tree: Path, dataset: Dataset, *, writable: bool) -> bytes:
    """Sizes, times of change and inode numbers of all files and folders of a tree.

    A copy is trusted until the machine is restarted: it may have been written shortly before a power loss.
    """
    top, names = str(tree), _names(tree, dataset)
    values: array[int] = array("q")
    lstat = os.lstat
    for name in sorted(_parents(names, top)) if dataset.is_folder else ():
        found = lstat(name)  # without its ctime, which changes when the tree is moved
        values.extend((found.st_mtime_ns, found.st_ino, found.st_mode))
    for name in names:
        found = lstat(name)
        values.extend((found.st_size, found.st_mtime_ns, found.st_ino, found.st_mode))
        if writable:  # that of a hard link changes with every further link
            values.append(found.st_ctime_ns)
    return values.tobytes() + (boot_id().encode() if writable else b"")


def _names(tree: Path, dataset: Dataset) -> list[str]:
    """The paths of all files in a tree."""
    return [f"{tree}/{file.path}" if file.path else str(tree) for file in dataset.files]


def _parents(names: Sequence[str], top: str) -> set[str]:
    """All folders of the tree."""
    found = {top}
    for folder in {name.rpartition("/")[0] for name in names}:
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]  # noqa: PLW2901
    return found


def _stat_file(tree: Path) -> Path:
    return tree.with_name(f"{tree.name}.state")
