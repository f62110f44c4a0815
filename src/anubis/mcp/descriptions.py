"""Described submissions that wait for their confirmation, by the digest of their token."""

import contextlib
import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from anubis.model.errors import TooManyRequestsError, disk_error
from anubis.model.plain import from_plain, to_plain
from anubis.record import access

#: Most descriptions that wait at the same time.
MOST = 1000
#: Longer than writing a description takes, seconds.
_WRITTEN_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A submission that was described."""

    #: The descriptor, in TOML.
    text: str
    #: Working folder of the benchmark.
    folder: str
    overrides: dict[str, str]
    needs: tuple[str, ...]
    #: The user to whom it was described.
    user: str
    #: UTC time after which it cannot be confirmed.
    until_s: float


class Descriptions(Protocol):
    """Each can be taken once, also if several threads or processes try at the same time."""

    def put(self, digest: str, description: Description, *, now_s: float) -> None:
        """Keep a description. Raises TooManyRequestsError."""
        ...

    def take(self, digest: str, *, user: str, now_s: float) -> Description | None:
        """Remove a description; None: there is none, it is of another user, or it is too old."""
        ...


class MemoryDescriptions(Descriptions):
    """Those of one process. Several threads may use them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, Description] = {}

    def put(self, digest: str, description: Description, *, now_s: float) -> None:
        with self._lock:
            self._kept = {name: each for name, each in self._kept.items() if each.until_s > now_s}
            _check(len(self._kept))
            self._kept[digest] = description

    def take(self, digest: str, *, user: str, now_s: float) -> Description | None:
        with self._lock:
            found = self._kept.get(digest)
            if found is None or not _is_valid(found, user, now_s):
                return None
            return self._kept.pop(digest)


class FolderDescriptions(Descriptions):
    """Private files in a folder that all services of an installation have, so that any of them can confirm."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, digest: str, description: Description, *, now_s: float) -> None:
        try:
            access.make_folder(str(self._folder))
            _check(sum(1 for each in self._folder.iterdir() if not self._expired(each, now_s)))
            new = self._folder / f".{digest}"
            with os.fdopen(access.create(str(new), os.O_WRONLY | os.O_EXCL), "w") as file:
                json.dump(to_plain(description), file)
            os.utime(new, (now_s, description.until_s))
            new.replace(self._folder / digest)
        except OSError as error:
            raise disk_error("the description cannot be stored", error) from error

    def take(self, digest: str, *, user: str, now_s: float) -> Description | None:
        file = self._folder / digest
        try:
            found = from_plain(Description, json.loads(file.read_text()))
            if not _is_valid(found, user, now_s):
                return None
            file.unlink()  # of several processes that read it, only one can delete it
        except FileNotFoundError:
            return None
        except OSError as error:
            raise disk_error("the description cannot be read", error) from error
        return found

    def _expired(self, file: Path, now_s: float) -> bool:
        """Whether a description is too old; then it is deleted. One that is being written has a name with a dot."""
        with contextlib.suppress(FileNotFoundError):
            spare_s = _WRITTEN_S if file.name.startswith(".") else 0.0
            if file.stat().st_mtime + spare_s > now_s:
                return False
            file.unlink()
        return True


def _is_valid(found: Description, user: str, now_s: float) -> bool:
    return found.user == user and found.until_s > now_s


def _check(count: int) -> None:
    if count >= MOST:
        raise TooManyRequestsError(
            f"{count} descriptions wait for their confirmation",
            remedy="confirm one, or wait 10 minutes",
            again_after_s=60.0,
        )
