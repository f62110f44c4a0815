"""Objects in a bucket, and objects in a folder with copies in a bucket."""

import hashlib
import logging
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from anubis.model.errors import NotFoundError, StoreError, disk_error
from anubis.store.bucket.connection import Bucket
from anubis.store.folders import FolderObjects, check_key

log = logging.getLogger(__name__)

OBJECTS = "objects/"
_BUFFER = 1 << 20
#: Objects up to this size do not use the disk while they are sent, bytes.
_IN_MEMORY = 8 << 20
_WITH_DIGEST = re.compile(r"(?:.*/)?([0-9a-f]{64})(?:\.\w+)?")


class BucketObjects:
    """``Objects`` (see the contract) below a prefix of a bucket."""

    def __init__(self, bucket: Bucket, prefix: str = OBJECTS) -> None:
        self._bucket = bucket
        self._prefix = prefix

    def put(self, key: str, stream: BinaryIO) -> int:
        """See the contract. The stream is read to its end before anything is sent."""
        check_key(key)
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
            while data := stream.read(_BUFFER):
                file.write(data)
            size_bytes = file.tell()
            file.seek(0)
            if size_bytes <= _IN_MEMORY:
                self._bucket.put(self._prefix + key, file.read())
            else:
                self._bucket.put_stream(self._prefix + key, file, size_bytes)  # type: ignore[arg-type]
        return size_bytes

    def open(self, key: str) -> BinaryIO:
        check_key(key)
        try:
            return self._bucket.open(self._prefix + key)
        except NotFoundError as error:
            raise NotFoundError(
                f"there is no object {key}", remedy="submit again what should have stored it"
            ) from error

    def url(self, key: str) -> str:
        """``s3://``, the bucket and the key."""
        check_key(key)
        return self._bucket.url(self._prefix + key)

    def size(self, key: str) -> int | None:
        """Size in bytes; None if it is not stored."""
        return self._bucket.size(self._prefix + key)


class SharedObjects:
    """``Objects`` (see the contract) in a folder, with copies in a bucket for the services with other folders.

    An object is stored in the folder first. If the bucket is away, the copy is made later, by ``copy_missing``.
    """

    def __init__(self, folder: Path, bucket: Bucket) -> None:
        self._folder = folder
        self._here = FolderObjects(folder)
        self._there = BucketObjects(bucket)
        #: Keys that are in the bucket, as far as this process knows.
        self._copied: set[str] = set()

    def put(self, key: str, stream: BinaryIO) -> int:
        """See the contract."""
        size_bytes = self._here.put(key, stream)
        self._copied.discard(key)
        try:
            self._copy(key)
        except StoreError as error:
            log.warning("object %s is copied to the bucket later: %s", key, error)
        return size_bytes

    def open(self, key: str) -> BinaryIO:
        """See the contract. An object of the bucket is stored in the folder; a digest in its name must be that of its bytes."""
        try:
            return self._here.open(key)
        except NotFoundError:
            with self._there.open(key) as stream:
                self._here.put(key, _Checked(stream, self._there.url(key)))  # type: ignore[arg-type]
            self._copied.add(key)
            return self._here.open(key)

    def url(self, key: str) -> str:
        """The address in the folder."""
        return self._here.url(key)

    def copy_missing(self) -> int:
        """Copy the objects of the folder that are not in the bucket; how many."""
        count = 0
        for key, size_bytes in self._keys():
            if key not in self._copied:
                if self._there.size(key) != size_bytes:
                    self._copy(key)
                    count += 1
                self._copied.add(key)
        return count

    def _copy(self, key: str) -> None:
        with self._here.open(key) as stream:
            self._there.put(key, stream)
        self._copied.add(key)

    def _keys(self) -> Iterator[tuple[str, int]]:
        try:
            for path in sorted(self._folder.rglob("*")):
                if path.is_file() and not path.name.startswith("."):
                    yield path.relative_to(self._folder).as_posix(), path.stat().st_size
        except OSError as error:
            raise disk_error(f"the objects in {self._folder} cannot be read", error) from error


class _Checked:
    """A stream that raises StoreError at its end if its bytes have not the digest that the address names, if it does."""

    def __init__(self, stream: BinaryIO, address: str) -> None:
        match = _WITH_DIGEST.fullmatch(address)
        self._stream = stream
        self._address = address
        self._digest = hashlib.sha256()
        self._expected = match.group(1) if match else None

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._digest.update(data)
        if (size < 0 or not data) and self._expected not in (None, self._digest.hexdigest()):
            raise StoreError(
                f"{self._address} is damaged: its content differs from the digest in its name",
                remedy="delete it, and submit again what should have stored it",
            )
        return data
