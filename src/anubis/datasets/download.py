"""Fetches one file, with digests computed while it arrives: large files in parallel parts, others as one stream."""

import hashlib
import os
import threading
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from anubis.contracts.source import RemoteFile, Source
from anubis.datasets.partial_file import PartialFile
from anubis.datasets.transfer_control import AbandonedError, Attempts, Reader, Transfer
from anubis.model.cause import Cause
from anubis.model.errors import SourceError
from anubis.record import access
from anubis.record.files import write_all

SHA256 = "sha256"
#: Files of at least this size are fetched in parts.
PARALLEL_BYTES = 16 << 20
_HASHED_BYTES = 1 << 20


class Digests:
    """Digests of bytes by several algorithms at once."""

    def __init__(self, algorithms: Collection[str]) -> None:
        self._digests = {name: hashlib.new(name, usedforsecurity=False) for name in (SHA256, *algorithms)}

    def update(self, data: bytes) -> None:
        for digest in self._digests.values():
            digest.update(data)

    def result(self) -> Mapping[str, str]:
        """Hex digits by algorithm."""
        return {name: digest.hexdigest() for name, digest in self._digests.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloaded:
    """A file that was fetched."""

    #: Hex digits by algorithm.
    digests: Mapping[str, str]
    size_bytes: int
    #: A part of it was fetched by an earlier call.
    resumed: bool = False


def download(
    source: Source,
    file: RemoteFile,
    path: Path,
    transfer: Transfer,
    *,
    algorithms: Collection[str] = (),
    identity: str = "",
) -> Downloaded:
    """Fetch a file to ``path``. Raises SourceError, OSError, AbandonedError.

    ``identity`` names the content, so that a later call continues what an interrupted one with the same identity began.
    """
    if file.size_bytes is not None and file.ranges and file.size_bytes >= PARALLEL_BYTES:
        part = PartialFile(path, size_bytes=file.size_bytes, identity=identity)
        return _Parallel(source, file, part, transfer, algorithms).run()
    return _sequential(source, file, path, transfer, algorithms)


def _sequential(
    source: Source, file: RemoteFile, path: Path, transfer: Transfer, algorithms: Collection[str]
) -> Downloaded:
    """One stream; after a failure it continues where it was, or starts again if the source has no ranges."""
    attempts = Attempts(transfer)
    digests, offset = Digests(algorithms), 0
    target = access.create(str(path), os.O_WRONLY | os.O_TRUNC)
    try:
        while True:
            try:
                for data in _content(source, file, offset, file.size_bytes, transfer):
                    write_all(target, data)
                    digests.update(data)
                    offset += len(data)
                    attempts.received(len(data))
                    transfer.add(len(data))
                return Downloaded(digests=digests.result(), size_bytes=offset)
            except SourceError as error:
                attempts.failed(error)
                if not (file.ranges and file.version):
                    transfer.add(-offset)
                    digests, offset = Digests(algorithms), 0
                    os.ftruncate(target, 0)
                    os.lseek(target, 0, os.SEEK_SET)
    finally:
        os.close(target)


def _content(
    source: Source, file: RemoteFile, start: int, stop: int | None, transfer: Transfer
) -> Iterator[bytes]:
    """The bytes of a range. Raises SourceError if they are fewer or more than the range has."""
    if start == stop and start:
        return
    stream = source.open(file, start, None if stop == file.size_bytes else stop)
    try:
        reader = Reader(stream, transfer)
        left = None if stop is None else stop - start
        while data := reader.read(1 << 30 if left is None else left + 1):
            if left is not None:
                left -= len(data)
                if left < 0:
                    raise SourceError(
                        "the source sent more bytes than the file had at first", cause=Cause.DATA_CHANGED
                    )
            yield data
        if left:
            raise SourceError(
                f"the data end {left} bytes before their end", cause=Cause.DATA_TRUNCATED, temporary=True
            )
    finally:
        stream.close()


class _Parallel:
    """Threads fetch parts; the calling thread computes the digests of parts in their order as they are complete."""

    def __init__(
        self,
        source: Source,
        file: RemoteFile,
        part: PartialFile,
        transfer: Transfer,
        algorithms: Collection[str],
    ) -> None:
        self._source, self._file, self._transfer = source, file, transfer
        self._algorithms = algorithms
        self._part = part
        self._missing = deque(self._part.missing())
        self._changed = threading.Condition()
        self._error: BaseException | None = None

    def run(self) -> Downloaded:
        part = self._part
        ranges = [part.range_of(index) for index in range(part.count) if part.is_complete(index)]
        done = sum(stop - start for start, stop in ranges)
        finished = False
        threads = [
            threading.Thread(target=self._fetch_parts, name="fetch", daemon=True)
            for _ in range(min(self._transfer.settings.connections, len(self._missing)))
        ]
        try:
            self._transfer.add(done)
            for thread in threads:
                thread.start()
            digests = self._digests()
            finished = True
        except BaseException as error:
            self._fail(error)
            if isinstance(error, SourceError) and error.cause is Cause.DATA_CHANGED:
                self._part.discard()
            raise
        finally:
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            self._part.close(finished=finished)
        return Downloaded(digests=digests, size_bytes=self._part.size_bytes, resumed=self._part.resumed)

    def _digests(self) -> Mapping[str, str]:
        digests = Digests(self._algorithms)
        for index in range(self._part.count):
            with self._changed:
                self._changed.wait_for(lambda: self._error or self._part.is_complete(index))  # noqa: B023
                if self._error:
                    raise self._error
            at, stop = self._part.range_of(index)
            while at < stop:
                data = self._part.read(at, min(_HASHED_BYTES, stop - at))
                if not data:
                    raise SourceError("the file in the cache was shortened", cause=Cause.DATA)
                digests.update(data)
                at += len(data)
        return digests.result()

    def _fetch_parts(self) -> None:
        try:
            while not self._error and self._missing:
                try:
                    index = self._missing.popleft()
                except IndexError:
                    return
                self._fetch(index)
                with self._changed:
                    self._part.completed(index)
                    self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001  raised in the thread that waits
            self._fail(error)

    def _fetch(self, index: int) -> None:
        attempts = Attempts(self._transfer)
        at, stop = self._part.range_of(index)
        while True:
            try:
                for data in _content(self._source, self._file, at, stop, self._transfer):
                    self._part.write(data, at)
                    at += len(data)
                    attempts.received(len(data))
                    self._transfer.add(len(data))
                    if self._error:
                        raise AbandonedError
            except SourceError as error:
                attempts.failed(error)
            else:
                return

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()
