"""Records as files: ``<run id>/a<attempt>/<role>/<rank>/<file>``, or ``a<attempt>.tar.zst`` when packed."""

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import zstandard

from anubis.contracts.records import Append, RecordFile, RecordKey
from anubis.model.errors import AnubisError, disk_error
from anubis.record import access, appending, files, layout, packing
from anubis.record.files import FileState, FolderFiles
from anubis.record.validation import DamagedError

_LEVEL = 9
#: Files that are synced at the same time.
_SYNCED_AT_ONCE = 16


class FolderRecords:
    """``Records`` (see the contract) in a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def append(self, key: RecordKey, file: str, offset: int, data: bytes) -> int:
        """See the contract. Appenders of a file wait for one another."""
        (size,) = self.append_all([Append(key=key, file=file, offset=offset, data=data)])
        if isinstance(size, Exception):
            raise size
        return size

    def append_all(self, appends: Sequence[Append]) -> Sequence[int | Exception]:
        """See the contract. Files that are synced at the same time share the writes to the journal of the file system."""
        opened: dict[tuple[RecordKey, str], int] = {}
        try:
            sizes: list[int | Exception] = []
            for each in appends:
                if each.follows and isinstance(sizes[-1], Exception):
                    sizes.append(sizes[-1])
                else:
                    sizes.append(self._caught(self._append, opened, each))
            written = [
                (opened[each.key, each.file], each)
                for each, size in zip(appends, sizes, strict=True)
                if not isinstance(size, Exception)
            ]
            failed = self._synced(dict(written))
            return [
                failed.get((each.key, each.file), size) if not isinstance(size, Exception) else size
                for each, size in zip(appends, sizes, strict=True)
            ]
        finally:
            for file in opened.values():
                os.close(file)

    @staticmethod
    def _caught(call: Callable[..., int], *words: Any) -> int | Exception:
        try:
            return call(*words)
        except (appending.GapError, appending.ConflictError, ValueError, AnubisError) as error:
            return error

    def _append(self, opened: dict[tuple[RecordKey, str], int], each: Append) -> int:
        """Write without syncing; ``opened`` gets the descriptor of the file."""
        folder = self._writable(each.key, each.file)
        if each.file in layout.REPLACED or each.offset < 0:
            raise ValueError(f"{each.file} cannot be appended to at offset {each.offset}")
        with self._failures(each.key.run_id):
            file = opened.get((each.key, each.file))
            if file is None:
                access.make_folder(str((folder / each.file).parent))
                file = files.open_below(str(folder), each.file, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK)
                opened[each.key, each.file] = file
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise ValueError(f"{each.file!r} is not a regular file")
            return appending.append(file, each.offset, each.data)

    def _synced(self, written: Mapping[int, Append]) -> dict[tuple[RecordKey, str], Exception]:
        """Wait until these files, and the folders of new ones, are on the disk; the errors."""
        folders = {
            parent: each for each in written.values() if each.offset == 0 for parent in self._folders(each)
        }
        work: list[tuple[Callable[[Any], None], Any, Append]] = [
            *((os.fdatasync, file, each) for file, each in written.items()),
            *((files.sync, str(folder), each) for folder, each in folders.items()),
        ]
        failed: dict[tuple[RecordKey, str], Exception] = {}

        def sync(part: Sequence[tuple[Callable[[Any], None], Any, Append]]) -> None:
            for call, file, each in part:
                try:
                    with self._failures(each.key.run_id):
                        call(file)
                except AnubisError as error:
                    failed[each.key, each.file] = error

        parts = [part for at in range(_SYNCED_AT_ONCE) if (part := work[at::_SYNCED_AT_ONCE])]
        list(self._syncing.map(sync, parts)) if len(parts) > 1 else sync(work)
        return failed

    @cached_property
    def _syncing(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(_SYNCED_AT_ONCE, "sync records")

    def _folders(self, each: Append) -> Iterator[Path]:
        """The folders from that of a file up to that of all records."""
        folder = (Path(self._role_folder(self._folder, each.key)) / each.file).parent
        while folder != self._folder:
            yield folder
            folder = folder.parent
        yield folder

    def replace(self, key: RecordKey, file: str, data: bytes) -> None:
        """See the contract."""
        folder = self._writable(key, file)
        if file not in layout.REPLACED:
            raise ValueError(f"{file} cannot be replaced")
        with self._failures(key.run_id):
            access.make_folder(str(folder))
            if file == layout.EXIT:
                for path in folder.iterdir():
                    files.sync(str(path))
            files.replace(str(folder), file, data, durable=True)

    def read(self, key: RecordKey, file: str, offset: int, length: int) -> bytes:
        """See the contract."""
        place = self._files(key, file)
        with self._failures(key.run_id), self._unreadable(file):
            data = place.read(file, offset, length)
            if not data and self._unpack(key.run_id, key.attempt):
                data = place.read(file, offset, length)
        return data

    def state(self, key: RecordKey, file: str) -> FileState | None:
        """See the contract."""
        place = self._files(key, file)
        with self._failures(key.run_id), self._unreadable(file):
            found = place.state(file)
            if found is None and self._unpack(key.run_id, key.attempt):
                found = place.state(file)
        return found

    def list(self, run_id: str, attempt: int) -> Sequence[RecordFile]:
        """See the contract. Links, pipes and files under construction are left out."""
        with self._failures(run_id):
            self._unpack(run_id, attempt)
            folder = self._attempt(run_id, attempt)
            found = [_file_of(path, folder, run_id, attempt) for path in _all_files(folder)]
        return sorted(filter(None, found), key=lambda each: (each.key, each.file))

    def attempts(self, run_id: str) -> Sequence[int]:
        """See the contract."""
        try:
            names = [entry.name.removesuffix(packing.SUFFIX) for entry in self._run(run_id).iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted({found for name in names if (found := layout.attempt_of(name))})

    def is_pending(self, run_id: str, attempt: int) -> bool:  # noqa: ARG002
        """Never: all bytes are written here."""
        return False

    def url(self, key: RecordKey) -> str:
        """``file://`` and the path of the folder, which exists unless there is no such record."""
        folder = self._role_folder(self._folder.absolute(), key)
        with self._failures(key.run_id):
            self._unpack(key.run_id, key.attempt)
        return Path(folder).as_uri()

    def pack(self, run_id: str) -> int:
        """See the contract."""
        folders = [self._attempt(run_id, attempt) for attempt in self.attempts(run_id)]
        with self._failures(run_id):
            return sum(packing.pack(str(folder), _compressed) for folder in folders if folder.exists())

    def remove(self, run_id: str) -> None:
        """See the contract."""
        with self._failures(run_id), contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._run(run_id))

    def _files(self, key: RecordKey, file: str) -> FolderFiles:
        layout.check_file(file)
        return FolderFiles(self._role_folder(self._folder, key))

    @staticmethod
    def _role_folder(folder: Path, key: RecordKey) -> str:
        return layout.role_folder(str(folder), key.run_id, key.attempt, key.role, key.rank)

    def _writable(self, key: RecordKey, file: str) -> Path:
        """The folder of a role and rank; a packed record is unpacked."""
        folder = Path(self._files(key, file).folder)
        with self._failures(key.run_id):
            self._unpack(key.run_id, key.attempt)
        return folder

    def _unpack(self, run_id: str, attempt: int) -> bool:
        return packing.unpack(str(self._attempt(run_id, attempt)), _decompressed)

    def _attempt(self, run_id: str, attempt: int) -> Path:
        return self._run(run_id) / layout.attempt_name(attempt)

    def _run(self, run_id: str) -> Path:
        if not layout.is_run_id(run_id):
            raise ValueError(f"{run_id!r} is not a run id")
        return self._folder / run_id

    @contextlib.contextmanager
    def _unreadable(self, file: str) -> Iterator[None]:
        """Missing permissions for a file of one record are damage of this record, unless they are missing for all."""
        try:
            yield
        except PermissionError as error:
            if not os.access(self._folder, os.R_OK | os.X_OK):
                raise
            raise DamagedError(f"{file}: {error.strerror}") from error

    @contextlib.contextmanager
    def _failures(self, run_id: str) -> Iterator[None]:
        """Errors of the file system as errors of the store."""
        try:
            yield
        except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
            raise ValueError(f"the name of a file and of a folder conflict: {error.filename}") from error
        except OSError as error:
            raise disk_error(f"the record of run {run_id} in {self._folder}", error) from error


def _all_files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield Path(parent, name)


def _file_of(path: Path, folder: Path, run_id: str, attempt: int) -> RecordFile | None:
    """A regular file of an attempt; None for all others, and for those under construction."""
    role, _, rest = path.relative_to(folder).as_posix().partition("/")
    rank, _, file = rest.partition("/")
    with contextlib.suppress(FileNotFoundError):  # it was deleted meanwhile
        found = path.lstat()
        unfinished = file.endswith(layout.PART) and "/" not in file
        if file and rank.isdecimal() and stat.S_ISREG(found.st_mode) and not unfinished:
            return RecordFile(
                key=RecordKey(run_id, attempt, role, int(rank)),
                file=file,
                size_bytes=found.st_size,
                modified_s=found.st_mtime,
            )
    return None


def _compressed(stream: IO[bytes]) -> contextlib.AbstractContextManager[IO[bytes]]:
    return zstandard.ZstdCompressor(level=_LEVEL).stream_writer(stream, closefd=False)


def _decompressed(stream: IO[bytes]) -> contextlib.AbstractContextManager[IO[bytes]]:
    return zstandard.ZstdDecompressor().stream_reader(stream)
