"""Objects and records as files under one folder each."""

import contextlib
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from anubis.model.errors import BadInputError, NotFoundError, StoreError
from anubis.store import packing

_KEY = re.compile(r"[\w.=+-]+(?:/[\w.=+-]+)*")
_RUN = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)
_ATTEMPT = re.compile(rf"a([1-9]\d*)(?:{re.escape(packing.SUFFIX)})?")
_ROLE = re.compile(r"[\w-]+")
_BUFFER = 1 << 20


class FolderObjects:
    """``Objects`` (see the contract) as files; a key is a path below the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, key: str, stream: BinaryIO) -> int:
        """See the contract. The file appears under its name only when all of it is on the disk."""
        path = self._path(key)
        new = path.with_name(f".new-{os.urandom(8).hex()}")
        reading = False  # an error of the stream is not one of this disk
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with new.open("xb") as file:
                while True:
                    reading = True
                    data = stream.read(_BUFFER)
                    reading = False
                    if not data:
                        break
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
            new.replace(path)
        except BaseException as error:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
            if reading or not isinstance(error, OSError):
                raise
            raise StoreError(
                f"object {key} cannot be stored in {self._folder}: {error.strerror or error}",
                remedy="look at the disk (space, permissions), then try again",
            ) from error
        return size

    def open(self, key: str) -> BinaryIO:
        path = self._path(key)
        try:
            return path.open("rb")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise NotFoundError(
                f"there is no object {key}", remedy="submit again what should have stored it"
            ) from error

    def url(self, key: str) -> str:
        """``file://`` and the path."""
        return self._path(key).absolute().as_uri()

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key) or any(set(part) == {"."} for part in key.split("/")):
            raise BadInputError(
                f"{key!r} is not a key of an object",
                remedy="use letters, digits, and _ . = + - in parts between slashes",
            )
        return self._folder / key


class FolderRecords:
    """``Records`` (see the contract): ``<run id>/a<attempt>/<role>/<rank>``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder(self, run_id: str, attempt: int, role: str = "benchmark", rank: int = 0) -> Path:
        if attempt < 1 or rank < 0 or not _ROLE.fullmatch(role):
            raise ValueError(f"no record has attempt {attempt}, role {role!r}, rank {rank}")
        whole = self._run(run_id) / f"a{attempt}"
        packing.unpack(whole)
        return whole / role / str(rank)

    def attempts(self, run_id: str) -> Sequence[int]:
        try:
            names = [entry.name for entry in self._run(run_id).iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted({int(found[1]) for name in names if (found := _ATTEMPT.fullmatch(name))})

    def pack(self, run_id: str) -> int:
        """See the contract: ``a<attempt>.tar.zst`` instead of the folder."""
        whole = [self._run(run_id) / f"a{attempt}" for attempt in self.attempts(run_id)]
        return sum(packing.pack(folder) for folder in whole if folder.exists())

    def remove(self, run_id: str) -> None:
        """See the contract. Silent about a run without a record."""
        try:
            shutil.rmtree(self._run(run_id))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise StoreError(
                f"the record of run {run_id} cannot be removed: {error.strerror or error}",
                remedy=f"look at the permissions of {self._folder}, then try again",
            ) from error

    def _run(self, run_id: str) -> Path:
        if not _RUN.fullmatch(run_id):
            raise ValueError(f"{run_id!r} is not a run id")
        return self._folder / run_id
