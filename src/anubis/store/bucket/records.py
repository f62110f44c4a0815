"""Records in a bucket, which are read; and records in a folder, where they are written, with copies in a bucket."""

import contextlib
import logging
import os
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

from anubis.contracts.records import Append, RecordFile, RecordKey
from anubis.model.errors import AnubisError, NotFoundError, disk_error
from anubis.record import access, layout
from anubis.record.files import FileState
from anubis.store.bucket import manifest as manifests
from anubis.store.bucket.connection import Bucket, BucketAwayError, DamagedObjectError
from anubis.store.bucket.manifest import Manifest, Part, StoredFile
from anubis.store.folder_records import FolderRecords

log = logging.getLogger(__name__)

#: How long a manifest is not read again, seconds: that of a run in progress, and one that is complete.
_FRESH_S, _COMPLETE_FRESH_S = 1.0, 60.0
#: Parts and manifests in memory.
_PARTS, _MANIFESTS = 4, 64


class BucketRecords:
    """The methods of ``Records`` (see the contract) that read, and ``remove``, on the copies in a bucket.

    Every byte is compared with the digest of its part: a damaged object raises DamagedObjectError.
    """

    def __init__(self, bucket: Bucket, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._bucket = bucket
        self._monotonic_s = monotonic_s
        self._lock = threading.Lock()
        self._manifests: OrderedDict[tuple[str, int], tuple[float, Manifest | None]] = OrderedDict()
        self._parts: OrderedDict[str, bytes] = OrderedDict()

    def manifest(self, run_id: str, attempt: int, *, fresh: bool = False) -> Manifest | None:
        """What the bucket has of an attempt; ``fresh``: it is read again. That it has nothing is not remembered."""
        place, now_s = (run_id, attempt), self._monotonic_s()
        with self._lock:
            until_s, known = self._manifests.get(place, (-1.0, None))
        if known and now_s < until_s and not fresh:
            return known
        try:
            data = self._bucket.get(manifests.manifest_key(run_id, attempt))
            found: Manifest | None = manifests.decoded(run_id, attempt, data)
        except NotFoundError:
            found = None
        fresh_s = _COMPLETE_FRESH_S if found and found.complete else _FRESH_S
        with self._lock:
            self._manifests[place] = now_s + fresh_s, found
            while len(self._manifests) > _MANIFESTS:
                self._manifests.popitem(last=False)
        return found

    def attempts(self, run_id: str) -> Sequence[int]:
        """See the contract."""
        found = self._bucket.children(manifests.run_prefix(run_id))
        return sorted({attempt for each in found if (attempt := manifests.attempt_of(each.key))})

    def list(self, run_id: str, attempt: int) -> Sequence[RecordFile]:
        """See the contract."""
        found = self.manifest(run_id, attempt)
        return found.listed() if found else []

    def state(self, key: RecordKey, file: str) -> FileState | None:
        """See the contract."""
        stored = self._stored(key, file)
        return FileState(stored.size_bytes, stored.modified_s) if stored else None

    def read(self, key: RecordKey, file: str, offset: int, length: int) -> bytes:
        """See the contract. A part that was replaced by a larger one meanwhile is looked up again."""
        self._check(key, file)
        for fresh in (False, True):
            found = self.manifest(key.run_id, key.attempt, fresh=fresh)
            stored = found.of(key, file) if found else None
            if found is None or stored is None:
                return b""
            try:
                return self._read(found, stored, offset, length)
            except NotFoundError:
                continue
        raise DamagedObjectError(f"{self.url(key)}/{file} is damaged: a part of it is missing in the bucket")

    def url(self, key: RecordKey) -> str:
        """``s3://``, the bucket, and the prefix of the parts."""
        self._check(key, layout.EXIT)
        return self._bucket.url(manifests.parts_prefix(key.run_id, key.attempt).rstrip("/"))

    def remove(self, run_id: str) -> None:
        """See the contract. The manifests are deleted first: what is left without one can be collected."""
        prefix = manifests.run_prefix(run_id)
        for found in (self._bucket.children(prefix), list(self._bucket.list(prefix))):
            for each in found:
                self._bucket.delete(each.key)
        with self._lock:
            for place in [place for place in self._manifests if place[0] == run_id]:
                del self._manifests[place]

    def copy_to(self, folder: Path, run_id: str, attempt: int) -> Manifest | None:
        """Write the files of an attempt to a folder, which must not exist; None if the bucket has none.

        Raises DamagedObjectError, and OSError.
        """
        found = self.manifest(run_id, attempt, fresh=True)
        if found is None:
            return None
        access.make_folder(str(folder))
        for stored in found.files.values():
            path = folder / stored.key.role / str(stored.key.rank) / stored.file
            access.make_folder(str(path.parent))
            with os.fdopen(access.create(str(path), os.O_WRONLY | os.O_EXCL), "wb") as file:
                for part in stored.parts:
                    file.write(manifests.read_part(self._bucket, found, part))
            os.utime(path, (stored.modified_s, stored.modified_s))
        return found

    def _stored(self, key: RecordKey, file: str) -> StoredFile | None:
        self._check(key, file)
        found = self.manifest(key.run_id, key.attempt)
        return found.of(key, file) if found else None

    def _read(self, found: Manifest, stored: StoredFile, offset: int, length: int) -> bytes:
        data, at = [], 0
        for part in stored.parts:
            start, end = max(offset, at), min(offset + length, at + part.size_bytes)
            if start < end:
                data.append(self._part(found, part)[start - at : end - at])
            at += part.size_bytes
        return b"".join(data)

    def _part(self, found: Manifest, part: Part) -> bytes:
        with self._lock:
            if part.sha256 in self._parts:
                self._parts.move_to_end(part.sha256)
                return self._parts[part.sha256]
        data = manifests.read_part(self._bucket, found, part)
        with self._lock:
            self._parts[part.sha256] = data
            while len(self._parts) > _PARTS:
                self._parts.popitem(last=False)
        return data

    @staticmethod
    def _check(key: RecordKey, file: str) -> None:
        layout.check_file(file)
        layout.role_folder("", key.run_id, key.attempt, key.role, key.rank)


class SharedRecords:
    """``Records`` (see the contract): the folder is looked at first, then the bucket. Written is only the folder."""

    def __init__(self, here: FolderRecords, folder: Path, bucket: Bucket) -> None:
        self.here = here
        self.there = BucketRecords(bucket)
        self._folder = folder

    def append(self, key: RecordKey, file: str, offset: int, data: bytes) -> int:
        """See the contract. A record that only the bucket has is copied to the folder first."""
        self._bring_back(key, file)
        return self.here.append(key, file, offset, data)

    def append_all(self, appends: Sequence[Append]) -> Sequence[int | Exception]:
        """See the contract and ``append``."""
        errors: list[Exception | None] = []
        for each in appends:
            error = errors[-1] if each.follows else None
            try:
                self._bring_back(each.key, each.file)
            except (ValueError, AnubisError) as failure:
                error = error or failure
            errors.append(error)
        wanted = [each for each, error in zip(appends, errors, strict=True) if error is None]
        sizes = iter(self.here.append_all(wanted))
        return [error or next(sizes) for error in errors]

    def replace(self, key: RecordKey, file: str, data: bytes) -> None:
        """See the contract."""
        self._bring_back(key, file)
        self.here.replace(key, file, data)

    def read(self, key: RecordKey, file: str, offset: int, length: int) -> bytes:
        """See the contract."""
        found = self.here.read(key, file, offset, length)
        if found or self._is_here(key.run_id, key.attempt):
            return found
        return self.there.read(key, file, offset, length)

    def state(self, key: RecordKey, file: str) -> FileState | None:
        """See the contract."""
        found = self.here.state(key, file)
        if found is not None or self._is_here(key.run_id, key.attempt):
            return found
        return self.there.state(key, file)

    def list(self, run_id: str, attempt: int) -> Sequence[RecordFile]:
        """See the contract."""
        found = self.here.list(run_id, attempt)
        return found if found or self._is_here(run_id, attempt) else self.there.list(run_id, attempt)

    def attempts(self, run_id: str) -> Sequence[int]:
        """See the contract. If the bucket is away, those of the folder, if there are any."""
        here = self.here.attempts(run_id)
        try:
            return sorted({*here, *self.there.attempts(run_id)})
        except BucketAwayError:
            if here:
                return here
            raise

    def url(self, key: RecordKey) -> str:
        """The folder, or the address in the bucket if only that has the record."""
        here = self.here.url(key)
        if self._is_here(key.run_id, key.attempt):
            return here
        try:
            is_there = self.there.manifest(key.run_id, key.attempt) is not None
        except BucketAwayError:
            is_there = False
        return self.there.url(key) if is_there else here

    def is_pending(self, run_id: str, attempt: int) -> bool:
        """See the contract."""
        if self._is_here(run_id, attempt):
            return False
        found = self.there.manifest(run_id, attempt, fresh=True)
        return found is not None and not found.complete

    def pack(self, run_id: str) -> int:
        """See the contract. The parts in the bucket are always compressed."""
        return self.here.pack(run_id)

    def remove(self, run_id: str) -> None:
        """Delete the record in the folder and in the bucket. If that is away, garbage collection deletes it there later."""
        self.here.remove(run_id)
        try:
            self.there.remove(run_id)
        except BucketAwayError as error:
            log.warning("the record of run %s remains in the bucket until anubis gc: %s", run_id, error)

    def _is_here(self, run_id: str, attempt: int) -> bool:
        return attempt in self.here.attempts(run_id)

    def _bring_back(self, key: RecordKey, file: str) -> None:
        layout.check_file(file)
        layout.role_folder("", key.run_id, key.attempt, key.role, key.rank)
        if self._is_here(key.run_id, key.attempt):
            return
        run = self._folder / key.run_id
        new = run / f".{layout.attempt_name(key.attempt)}-{os.urandom(8).hex()}"
        try:
            if self.there.copy_to(new, key.run_id, key.attempt):
                new.rename(run / layout.attempt_name(key.attempt))
        except BucketAwayError as error:  # a new attempt is written while the bucket is away
            log.warning("it is not known whether the bucket has a record of run %s: %s", key.run_id, error)
        except OSError as error:
            with contextlib.suppress(FileExistsError, NotADirectoryError):
                if not self._is_here(key.run_id, key.attempt):
                    raise disk_error(f"the record of run {key.run_id} in {self._folder}", error) from error
        finally:
            shutil.rmtree(new, ignore_errors=True)
