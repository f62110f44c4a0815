"""Fetches one dataset into the cache: what is stored already is not fetched again."""

import hashlib
import json
import os
import queue
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anubis.contracts.datasets import Dataset, DatasetFile
from anubis.contracts.source import RemoteFile, Source, shown_address
from anubis.datasets import maintenance
from anubis.datasets.cache_folder import CacheFolder, Entry, boot_id, dataset_of, key_of
from anubis.datasets.download import SHA256, Downloaded, download
from anubis.datasets.space import check_space, full
from anubis.datasets.transfer_control import Transfer
from anubis.datasets.unpacking import unpack
from anubis.model.cause import Cause
from anubis.model.errors import SourceError
from anubis.model.server import DataSource
from anubis.record import access
from anubis.record.files import write_all

#: Attempts to fetch a dataset whose files change meanwhile.
_RESTARTS = 3
#: Files of at least this size are fetched one after the other, each with several requests.
_LARGE_BYTES = 16 << 20


def fetch(cache: CacheFolder, adapter: Source, source: DataSource, transfer: Transfer) -> Dataset:
    """The dataset of a source, complete in the cache. The caller holds the lock of its key.

    Raises SourceError, OSError, AbandonedError.
    """
    key = key_of(source)
    for restart in range(_RESTARTS):
        try:
            dataset = _Fetch(cache, adapter, source, transfer, cache.parts(key)).run()
            break
        except SourceError as error:
            if error.cause is not Cause.DATA_CHANGED or restart == _RESTARTS - 1:
                raise
    cache.used(key)
    shutil.rmtree(cache.parts(key), ignore_errors=True)
    return dataset


def stored(cache: CacheFolder, entry: Entry | None) -> Dataset | None:
    """The dataset of an entry if all its files are stored."""
    dataset = cache.dataset(entry.digest) if entry else None
    return dataset if dataset and all(map(cache.has, dataset.files)) else None


@dataclass(frozen=True, slots=True)
class _Fetch:
    """One attempt to fetch a dataset."""

    cache: CacheFolder
    adapter: Source
    source: DataSource
    transfer: Transfer
    #: Folder for what is not complete.
    parts: Path

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithm of the declared digest, if it has to be computed too."""
        name = (self.source.digest or SHA256).partition(":")[0]
        return () if name == SHA256 else (name,)

    def run(self) -> Dataset:
        """Fetch what is missing."""
        entry = self.cache.entry(key_of(self.source))
        known = self._checked(entry, stored(self.cache, entry))
        if known and self.source.digest:
            return known
        version = entry.version if entry and known else ""
        files = self.transfer.retried(lambda: self.adapter.find(self.source.src, version))
        if files is None:
            assert known is not None
            return known
        self._check(files)
        access.make_folder(str(self.parts))
        fetched = dataset_of(self._contents(files, self._known(known)))
        self._verify(fetched)
        dataset = unpack(self.cache, fetched, self.parts, self.transfer) if self.source.unpack else fetched
        self._keep(dataset, fetched, files)
        return dataset

    @property
    def _journal(self) -> Path:
        """The files that are fetched, one line each: those that a later process need not fetch again.

        Not after a restart of the machine: a power loss may have taken the content of the last ones.
        """
        return self.parts / f"files-{boot_id()}.jsonl"

    def _checked(self, entry: Entry | None, known: Dataset | None) -> Dataset | None:
        """A stored dataset, if it is still intact: after a restart of the machine its files are read once.

        What was written shortly before a power loss may be missing on the disk. After a restart everything is read from it.
        """
        if known is None or entry is None or entry.is_on_disk:
            return known
        if maintenance.verify(self.cache, known):
            return None
        self.cache.put_entry(key_of(self.source), replace(entry, written_in=""))
        return known

    def _check(self, files: Sequence[RemoteFile]) -> None:
        """Raises SourceError for what cannot be fetched, before anything is."""
        address = shown_address(self.source.src)
        if not files:
            raise SourceError(f"there are no files at {address}", cause=Cause.DATA_NOT_FOUND)
        is_folder = any(file.path for file in files)
        if is_folder and (self.source.unpack or self.algorithms):
            what = "unpack needs one archive" if self.source.unpack else "an MD5 is that of one file"
            remedy = "name the archive, or set unpack = false"
            if not self.source.unpack:
                remedy = "use the digest that anubis data show prints for the folder"
            raise SourceError(f"{what}, but {address} is a folder", cause=Cause.DATA, remedy=remedy)
        for file in files:
            parts = file.path.split("/")
            if file.path and (
                not {"", ".", ".."}.isdisjoint(parts) or "\0" in file.path or "\n" in file.path
            ):
                raise SourceError(f"{address} has a file with the name {file.path!r}", cause=Cause.DATA)

    def _known(self, dataset: Dataset | None) -> Mapping[tuple[str, str], DatasetFile]:
        """Files that are stored, by path and version: of the previous version, and of an interrupted attempt."""
        found = list(dataset.files) if dataset and not self.source.unpack else []
        try:
            lines = self._journal.read_text().splitlines()
        except FileNotFoundError:
            lines = []
        found += [file for line in lines if (file := _file_of(line)) is not None]
        return {(file.path, file.version): file for file in found if file.version}

    def _contents(
        self, files: Sequence[RemoteFile], known: Mapping[tuple[str, str], DatasetFile]
    ) -> list[DatasetFile]:
        """All files, in the cache."""
        sizes = [file.size_bytes for file in files]
        total = None if None in sizes else sum(size or 0 for size in sizes)
        self.transfer.begin(total)
        done, missing = [], []
        for file in files:
            before = known.get((file.path, file.version))
            if before and before.size_bytes == file.size_bytes and self.cache.has(before):
                done.append(before)
            else:
                missing.append(file)
        self.transfer.add(sum(file.size_bytes for file in done))
        begun = sum(path.stat().st_blocks * 512 for path in self.parts.glob("*.part"))
        needed = sum(file.size_bytes or 0 for file in missing) - begun
        check_space(self.cache, needed, self.transfer.settings)
        large = [file for file in missing if (file.size_bytes or 0) >= _LARGE_BYTES]
        small = [file for file in missing if (file.size_bytes or 0) < _LARGE_BYTES]
        journal = access.create(str(self._journal), os.O_WRONLY | os.O_APPEND)
        try:
            done += [self._content(file, journal) for file in large]
            done += self._in_parallel(small, journal)
        finally:
            os.close(journal)
        return done

    def _in_parallel(self, files: Sequence[RemoteFile], journal: int) -> Iterator[DatasetFile]:
        """Fetch small files, several at the same time."""
        waiting: queue.SimpleQueue[RemoteFile] = queue.SimpleQueue()
        ended: queue.SimpleQueue[DatasetFile | BaseException] = queue.SimpleQueue()
        for file in files:
            waiting.put(file)
        halt = threading.Event()

        def work() -> None:
            while not halt.is_set():
                try:
                    file = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    ended.put(self._content(file, journal))
                except BaseException as error:  # noqa: BLE001  raised in the thread that waits
                    halt.set()
                    ended.put(error)

        count = min(self.transfer.settings.connections, len(files))
        threads = [threading.Thread(target=work, name="fetch", daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            for _ in files:
                answer = ended.get()
                if isinstance(answer, BaseException):
                    raise answer
                yield answer
        finally:
            halt.set()
            for thread in threads:
                thread.join()

    def _content(self, file: RemoteFile, journal: int) -> DatasetFile:
        """Fetch one file into the cache. A file with a version is noted in the journal, for a later process."""
        name = hashlib.sha256(file.path.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        part = self.parts / f"{name}.part"
        identity = file.version or self.source.digest or ""
        try:
            got = self._downloaded(file, part, identity)
        except OSError as error:
            raise full(self.cache, error) from error
        self.cache.take(part, got.digests[SHA256])
        fetched = DatasetFile(
            path=file.path, sha256=got.digests[SHA256], size_bytes=got.size_bytes, version=file.version
        )
        if file.path and file.version:
            write_all(journal, json.dumps(fetched).encode() + b"\n")
        return fetched

    def _downloaded(self, file: RemoteFile, part: Path, identity: str) -> Downloaded:
        """Fetch to ``part``, and compare the declared digest of a single file.

        A file that does not have it is fetched once more if a part of it came from an earlier process.
        """
        got = download(self.adapter, file, part, self.transfer, algorithms=self.algorithms, identity=identity)
        if file.path or self._agrees(got.digests):
            return got
        if got.resumed:
            self.transfer.add(-got.size_bytes)
            got = download(self.adapter, file, part, self.transfer, algorithms=self.algorithms)
            if self._agrees(got.digests):
                return got
        part.unlink(missing_ok=True)
        name = (self.source.digest or "").partition(":")[0]
        raise self._mismatch(f"{name}:{got.digests[name]}")

    def _agrees(self, digests: Mapping[str, str]) -> bool:
        name, _, declared = (self.source.digest or "").partition(":")
        return not name or digests[name] == declared

    def _mismatch(self, actual: str) -> SourceError:
        return SourceError(
            f"the data at {shown_address(self.source.src)} have the digest {actual}, not {self.source.digest}",
            cause=Cause.DATA_DIGEST,
        )

    def _verify(self, fetched: Dataset) -> None:
        """Compare the declared digest of a folder; that of a file is compared when it was fetched."""
        if fetched.is_folder and self.source.digest not in (None, fetched.digest):
            raise self._mismatch(fetched.digest)

    def _keep(self, dataset: Dataset, fetched: Dataset, files: Sequence[RemoteFile]) -> None:
        self.cache.put_dataset(dataset)
        entry = Entry(
            src=shown_address(self.source.src),
            declared=self.source.digest or "",
            unpacked=self.source.unpack,
            digest=dataset.digest,
            fetched_digest=fetched.digest,
            version=files[0].version if not fetched.is_folder else "",
            fetched_s=time.time(),
            written_in=boot_id(),
        )
        self.cache.put_entry(key_of(self.source), entry)


def _file_of(line: str) -> DatasetFile | None:
    """The file of a line of the journal; None: the line is incomplete."""
    try:
        path, sha256, size_bytes, version = json.loads(line)
    except ValueError:
        return None
    return DatasetFile(path=path, sha256=sha256, size_bytes=size_bytes, version=version)
