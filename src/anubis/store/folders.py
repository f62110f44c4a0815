"""Objects as files below one folder."""

import contextlib
import os
import re
from pathlib import Path
from typing import BinaryIO

from anubis.model.errors import BadInputError, NotFoundError, disk_error
from anubis.record import access

_KEY = re.compile(r"[\w.=+-]+(?:/[\w.=+-]+)*")
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
            access.make_folder(str(path.parent))
            with os.fdopen(access.create(str(new), os.O_WRONLY | os.O_EXCL), "wb") as file:
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
            raise disk_error(f"object {key} cannot be stored in {self._folder}", error) from error
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
        check_key(key)
        return self._folder / key


def check_key(key: str) -> None:
    """Raise BadInputError for a text that is not a key of an object."""
    if not _KEY.fullmatch(key) or any(set(part) == {"."} for part in key.split("/")):
        raise BadInputError(
            f"{key!r} is not a key of an object",
            remedy="use letters, digits, and _ . = + - in parts between slashes",
        )
