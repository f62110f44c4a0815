"""What a joined worker keeps in its home folder: its identity, its lock, and the attempts that it has begun."""

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anubis.api.runs import run_details_to_json, run_from_json
from anubis.model.errors import BadInputError, disk_error
from anubis.model.run import Run
from anubis.record import access

FOLDER = "worker"
_PLACE, _JOINED, _LOCK = "place.json", "joined.json", "lock"


class Spool:
    """The files of a worker. Attempts have no secrets and no tokens in them."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock of the worker of this home folder. Raises BadInputError if another one has it."""
        try:
            access.make_folder(str(self._folder))
            lock = access.create(str(self._folder / _LOCK), os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise disk_error(f"{self._folder} cannot be written", error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise BadInputError(
                f"a worker with the home folder {self._folder.parent} has joined already",
                remedy="end it, or use another home folder: ANUBIS_HOME",
            ) from None
        try:
            yield
        finally:
            os.close(lock)

    def place(self) -> str:
        """The random id of this home folder. Raises StoreError."""
        known = self._read(self._folder / _PLACE).get("place")
        if isinstance(known, str) and known:
            return known
        place = secrets.token_hex(16)
        self._write(_PLACE, {"place": place})
        return place

    def note_joined(self, url: str, name: str) -> None:
        """Keep for ``anubis doctor`` which service this worker has joined."""
        self._write(_JOINED, {"url": url, "name": name})

    def joined(self) -> tuple[str, str] | None:
        """Address and name with which a worker joined last; None: none has."""
        known = self._read(self._folder / _JOINED)
        return (str(known["url"]), str(known["name"])) if {"url", "name"} <= known.keys() else None

    def begin(self, run: Run) -> None:
        """Keep an attempt from now on. Raises StoreError."""
        self._write(_name(run), run_details_to_json(run))

    def begun(self) -> list[Run]:
        """The attempts that an earlier worker of this home folder has begun."""
        found = []
        for path in sorted(self._folder.glob("*.*.json")):
            with contextlib.suppress(ValueError, TypeError, LookupError):  # damaged: nothing is known of it
                found.append(run_from_json(self._read(path)))
        return found

    def forget(self, run: Run) -> None:
        """The attempt has ended, and the service knows it."""
        (self._folder / _name(run)).unlink(missing_ok=True)

    def _write(self, name: str, content: Any) -> None:
        part = self._folder / f".{name}.{os.urandom(8).hex()}"
        try:
            access.make_folder(str(self._folder))
            with os.fdopen(access.create(str(part), os.O_WRONLY | os.O_EXCL), "wb") as file:
                file.write(json.dumps(content).encode())
            part.replace(self._folder / name)
        except OSError as error:
            raise disk_error(f"{self._folder} cannot be written", error) from error
        finally:
            part.unlink(missing_ok=True)

    @staticmethod
    def _read(path: Path) -> dict[str, Any]:
        try:
            found = json.loads(path.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def _name(run: Run) -> str:
    return f"{run.id}.{run.attempt}.json"


@dataclass(frozen=True, slots=True)
class Token:
    """Where a worker gets its token from."""

    #: A file; None: the variable.
    file: Path | None
    #: Value of ANUBIS_WORKER_TOKEN.
    variable: str

    def read(self) -> str:
        """The token. Raises BadInputError if there is none."""
        text = self.variable
        if self.file is not None:
            try:
                text = self.file.read_text()
            except (OSError, UnicodeDecodeError) as error:
                raise BadInputError(f"the token cannot be read from {self.file}: {error}") from error
        text = text.strip()
        if not text or not text.isascii() or not text.isprintable():
            raise BadInputError(
                "a worker needs a token to join",
                remedy="make one with anubis worker token NAME, then give it with"
                " --token-file or ANUBIS_WORKER_TOKEN",
            )
        return text
