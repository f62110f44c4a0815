"""The files of the cache of datasets.

- ``files/<2 digits>/<sha256>``: the content of files, read-only.
- ``sets/<sha256>.json``: the files of each dataset.
- ``index/<key>.json``: which dataset a source had when it was fetched last; its time of change is when it was last used.
- ``parts/<key>/``: what was fetched of a dataset that is not complete.
- ``trees/``: datasets as the files and folders that benchmarks read.
- ``locks/``: one writer for each dataset, in all processes.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anubis.contracts.datasets import Dataset, DatasetFile, FetchProgress
from anubis.contracts.source import shown_address
from anubis.model.server import DataSource
from anubis.record import access

_SHA256 = "sha256:"
#: Everyone may read the content: the home folder is private, but the user in a container may be another one.
_READ_ONLY = 0o444
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Identifies the time since the machine was started; empty where the system does not say it."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def key_of(source: DataSource) -> str:
    """The name of a source in the cache: the declared digest decides, and the address where there is none."""
    identity = [source.digest or source.src, source.unpack]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


def dataset_of(files: Sequence[DatasetFile]) -> Dataset:
    """The dataset with these files; the digest of a folder is that of the list of its files, as sha256sum prints it."""
    ordered = tuple(sorted(files, key=lambda file: file.path))
    if len(ordered) == 1 and not ordered[0].path:
        return Dataset(digest=f"{_SHA256}{ordered[0].sha256}", files=ordered)
    lines = "".join(f"{file.sha256}  {file.path}\n" for file in ordered)
    digest = hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
    return Dataset(digest=f"{_SHA256}{digest}", files=ordered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Which dataset a source had when it was fetched last."""

    src: str
    declared: str
    unpacked: bool
    #: Digest of the dataset; of the archive from which it was extracted.
    digest: str
    fetched_digest: str
    #: How the source identified this version; empty: not.
    version: str
    fetched_s: float
    #: Boot of the machine in which the files were written; empty: they were read from the disk after a restart.
    written_in: str = "unknown"

    @property
    def is_on_disk(self) -> bool:
        """Whether the files cannot be missing because of a power loss after they were written."""
        return self.written_in in ("", boot_id())


class CacheFolder:
    """Reads and writes the files of the cache. Raises OSError."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files = folder / "files"
        #: The dataset that was read last: stages fetch and place ask for the same one.
        self._last: Dataset | None = None

    def make(self) -> None:
        for name in ("files", "sets", "index", "parts", "trees", "locks"):
            access.make_folder(str(self.folder / name))

    @contextlib.contextmanager
    def locked(self, name: str, *, shared: bool = False, wait: bool = True) -> Iterator[bool]:
        """Hold a lock of all processes, if it is free or ``wait``; whether it is held."""
        lock = access.create(str(self.folder / "locks" / name), os.O_RDWR | os.O_CLOEXEC)
        try:
            mode = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
            try:
                fcntl.flock(lock, mode)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(lock)

    def file(self, sha256: str) -> Path:
        """The content with this digest."""
        return Path(
            f"{self._files}/{sha256[:2]}/{sha256}"
        )  # several times as fast as joining paths, for each file

    def has(self, file: DatasetFile) -> bool:
        """Whether the content of a file is stored, with its size."""
        try:
            return self.file(file.sha256).stat().st_size == file.size_bytes
        except FileNotFoundError:
            return False

    def take(self, path: Path, sha256: str) -> None:
        """Move a file with this digest into the cache."""
        target = self.file(sha256)
        if target.exists():  # datasets that were verified after a restart rely on it
            _write_to_disk(path)
        path.chmod(_READ_ONLY)
        try:
            path.replace(target)
        except FileNotFoundError:
            access.make_folder(str(target.parent))
            path.replace(target)

    def dataset(self, digest: str) -> Dataset | None:
        """The dataset with this digest; None: it is not stored."""
        if (last := self._last) and last.digest == digest and self._set(digest).exists():
            return last
        self._last = self._dataset(digest)
        return self._last

    def _dataset(self, digest: str) -> Dataset | None:
        plain = read_json(self._set(digest))
        if plain is None:
            return None
        return Dataset(digest=plain["digest"], files=tuple(map(DatasetFile._make, plain["files"])))

    def put_dataset(self, dataset: Dataset) -> None:
        self._last = None  # its versions may differ
        write_json(self._set(dataset.digest), {"digest": dataset.digest, "files": dataset.files})

    def entry(self, key: str) -> Entry | None:
        plain = read_json(self._index(key))
        return None if plain is None else Entry(**plain)

    def put_entry(self, key: str, entry: Entry) -> None:
        write_json(self._index(key), asdict(entry))

    def used(self, key: str) -> None:
        """Note that a dataset is used now."""
        with contextlib.suppress(FileNotFoundError, PermissionError):
            os.utime(self._index(key))

    def used_s(self, key: str) -> float:
        """When a dataset was last used; UTC seconds since 1970."""
        return self._index(key).stat().st_mtime

    def complete(self) -> Iterator[str]:
        """The keys of all sources that were fetched."""
        yield from (path.stem for path in self.children("index") if path.suffix == ".json")

    def begun(self) -> Iterator[str]:
        """The keys of all sources that are not complete."""
        yield from (path.name for path in self.children("parts"))

    def parts(self, key: str) -> Path:
        """The folder for what was fetched of a source that is not complete."""
        return self.folder / "parts" / key

    def put_progress(self, key: str, source: DataSource, progress: FetchProgress) -> None:
        plain = {
            "src": shown_address(source.src),
            "declared": source.digest or "",
            "done_bytes": progress.done_bytes,
            "size_bytes": progress.size_bytes,
        }
        with contextlib.suppress(FileNotFoundError):  # complete in the meantime
            write_json(self.parts(key) / "progress.json", plain)

    def progress(self, key: str) -> Mapping[str, Any]:
        """What ``put_progress`` wrote; empty: nothing yet."""
        return read_json(self.parts(key) / "progress.json") or {}

    def tree(self, digest: str, *, writable: bool) -> Path:
        """Where a benchmark finds the dataset; the copy for benchmarks that could write to it, or links."""
        return self.folder / "trees" / f"{_hex(digest)}.{'copy' if writable else 'links'}"

    def remove_entry(self, key: str) -> None:
        self._index(key).unlink(missing_ok=True)

    def remove_dataset(self, digest: str) -> None:
        self._set(digest).unlink(missing_ok=True)

    def children(self, name: str) -> list[Path]:
        """The files and folders in a folder of the cache."""
        try:
            return sorted(path for path in (self.folder / name).iterdir() if not path.name.startswith("."))
        except FileNotFoundError:
            return []

    def _set(self, digest: str) -> Path:
        return self.folder / "sets" / f"{_hex(digest)}.json"

    def _index(self, key: str) -> Path:
        return self.folder / "index" / f"{key}.json"


def _write_to_disk(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _hex(digest: str) -> str:
    found = digest.removeprefix(_SHA256)
    if not re.fullmatch("[0-9a-f]{64}", found):
        raise ValueError(f"{digest!r} is not a digest")
    return found


def read_json(path: Path) -> dict[str, Any] | None:
    """The content of a file of the cache; None: it is missing or damaged."""
    try:
        content = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def write_json(path: Path, value: object) -> None:
    """Replace a file of the cache."""
    new = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with os.fdopen(access.create(str(new), os.O_WRONLY | os.O_EXCL), "w") as file:
            json.dump(value, file)
        new.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        raise
