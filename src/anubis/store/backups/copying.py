"""Copies files with their digests, and records that may be packed or purged meanwhile."""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from anubis.model.errors import BadInputError
from anubis.record import access, layout, packing
from anubis.sealing.chain import FILE as CHAIN

#: The list of all files of a backup, as sha256sum writes it. A folder without it is not a complete backup.
SUMS = "SHA256SUMS"
#: The files and folders of a backup.
DATABASE, OBJECTS, PRICES = "anubis.db", "objects", "prices.toml"
_PARTS = {DATABASE, OBJECTS, PRICES, CHAIN, layout.RECORDS}
_CHUNK = 1 << 20
#: How often a record is copied again because it was packed or unpacked meanwhile.
_TRIES = 10


class Copied:
    """The files of a backup under construction."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        #: Path below the folder -> SHA-256.
        self.digests: dict[str, str] = {}
        self.size_bytes = 0

    def note(self, name: str) -> None:
        """Note a file that is in the folder already."""
        with (self._folder / name).open("rb") as file:
            self.digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
        self.size_bytes += (self._folder / name).stat().st_size

    def file(self, source: Path, name: str, size_bytes: int | None = None) -> None:
        """Copy a regular file, or its first bytes, with its mode and the time of its last change."""
        target, digest, left = self._folder / name, hashlib.sha256(), size_bytes
        access.make_folder(str(target.parent))
        with source.open("rb") as read, target.open("xb") as written:
            while data := read.read(_CHUNK if left is None else min(left, _CHUNK)):
                digest.update(data)
                written.write(data)
                left = None if left is None else left - len(data)
            self.size_bytes += written.tell()
            os.fchmod(
                written.fileno(), stat.S_IMODE(os.fstat(read.fileno()).st_mode) | stat.S_IRUSR | stat.S_IWUSR
            )
        shutil.copystat(source, target, follow_symlinks=False)
        target.chmod(stat.S_IMODE(target.stat().st_mode) | stat.S_IRUSR | stat.S_IWUSR)
        self.digests[name] = digest.hexdigest()

    def folder(self, source: Path, name: str) -> None:
        """Copy the regular files below a folder; those under construction are left out."""
        for path in files_below(source):
            self.file(path, f"{name}/{path.relative_to(source).as_posix()}")

    def record(self, source: Path, name: str) -> bool:
        """Copy the record of a final run, which does not change, but may be packed, unpacked or deleted; whether there is one."""
        for _ in range(_TRIES):
            size_bytes = self.size_bytes
            try:
                self.folder(source, name)
            except FileNotFoundError:
                shutil.rmtree(self._folder / name, ignore_errors=True)
                self.digests = {
                    path: sum_ for path, sum_ in self.digests.items() if not path.startswith(f"{name}/")
                }
                self.size_bytes = size_bytes
            else:
                return any((self._folder / name).glob("*"))
        return False

    def has(self, name: str) -> bool:
        """Whether a folder, or the file that it is packed into, is in the backup."""
        path = self.path(name)
        return path.exists() or Path(packing.packed(str(path))).exists()

    def path(self, name: str) -> Path:
        """Where a file or folder of the backup is written."""
        return self._folder / name

    def write_sums(self) -> None:
        """Write the list of all files; the backup is complete then."""
        lines = [f"{digest}  {name}\n" for name, digest in sorted(self.digests.items())]
        (self._folder / SUMS).write_text("".join(lines))


def files_below(folder: Path) -> Iterator[Path]:
    """Regular files, without those under construction, whose first part begins with a dot."""
    for parent, folders, names in os.walk(folder):
        is_top = Path(parent) == folder
        if is_top:
            folders[:] = _finished(folders)
        kept = _finished(names) if is_top else names
        yield from (path for name in kept if stat.S_ISREG((path := Path(parent, name)).lstat().st_mode))


def _finished(names: list[str]) -> list[str]:
    return [name for name in names if not name.startswith(packing.UNFINISHED)]


def checked(folder: Path) -> dict[str, str]:
    """The files of a backup, path -> SHA-256, after all were read. Raises BadInputError for a damaged or incomplete one."""
    try:
        lines = (folder / SUMS).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"{folder} is not a complete backup: its file {SUMS} cannot be read",
            remedy="give a folder that anubis backup --full has written",
        ) from error
    found = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    for name, digest in found.items():
        path = folder / name
        if name.partition("/")[0] not in _PARTS or ".." in path.parts:
            raise BadInputError(
                f"{folder} is not a backup: it names the file {name!r}", remedy="give another folder"
            )
        try:
            with path.open("rb") as file:
                is_right = hashlib.file_digest(file, "sha256").hexdigest() == digest
        except OSError:
            is_right = False
        if not is_right:
            raise BadInputError(
                f"the backup is damaged: {path} is missing or was changed", remedy="restore another backup"
            )
    return found
