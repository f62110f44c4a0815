"""``Datasets`` in a folder: fetches in threads of this process, shared with all other processes that use the folder."""

import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from anubis.contracts.datasets import Dataset, FetchProgress, PlannedDataset, StoredDataset
from anubis.contracts.source import Source
from anubis.datasets import trees
from anubis.datasets.cache_folder import CacheFolder, Entry, key_of
from anubis.datasets.limits import FetchSettings
from anubis.datasets.space import check_space, free_bytes, full
from anubis.datasets.transfer_control import AbandonedError, Transfer
from anubis.late import late
from anubis.model.cause import Cause
from anubis.model.errors import AnubisError, PlugInError, StageError
from anubis.model.server import DataSource

if TYPE_CHECKING:
    from anubis.datasets import fetching, maintenance, planning
else:  # archives, which most commands do not need
    fetching = late("anubis.datasets.fetching")
    maintenance = late("anubis.datasets.maintenance")
    planning = late("anubis.datasets.planning")

log = logging.getLogger(__name__)

#: Datasets that one process fetches at the same time.
_AT_ONCE = 4
#: Time in which a fetch that needs no transfer usually ends; the caller waits for it. Seconds.
_QUICK_S = 0.1
#: Pause between two looks at the progress of another process, seconds.
_LOOK_S = 0.2


class _Fetching:
    """One dataset that this process fetches, or waits for."""

    def __init__(self, transfer: Transfer) -> None:
        self.transfer = transfer
        self.ended = threading.Event()
        self.dataset: Dataset | None = None
        self.error: BaseException | None = None
        #: Progress of another process that fetches it; None: this one does.
        self.elsewhere: FetchProgress | None = None


class CachedDatasets:
    """``Datasets`` (see the contract) in one folder."""

    def __init__(self, settings: FetchSettings, sources: Mapping[str, Source]) -> None:
        """``sources`` are by the schemes of their addresses."""
        self._settings = settings
        self._sources = sources
        self._cache = CacheFolder(settings.folder)
        self._lock = threading.Lock()
        self._active: dict[tuple[str, bool], _Fetching] = {}
        self._room = threading.Semaphore(_AT_ONCE)

    def fetch(self, source: DataSource, *, writable: bool) -> Dataset | FetchProgress:
        name = key_of(source), writable
        if source.digest and (dataset := self._ready(source, writable)):
            return dataset
        with self._lock:
            fetching_now = self._active.get(name)
            is_new = fetching_now is None
            if fetching_now is None:
                fetching_now = self._active[name] = self._start(source, writable)
        fetching_now.transfer.asked()
        if is_new:
            fetching_now.ended.wait(_QUICK_S)
        if not fetching_now.ended.is_set():
            return fetching_now.elsewhere or fetching_now.transfer.progress
        with self._lock:
            self._active.pop(name, None)
        if fetching_now.dataset is not None:
            return fetching_now.dataset
        if isinstance(fetching_now.error, AbandonedError):
            return FetchProgress()  # the next call begins again
        raise self._failure(fetching_now.error)

    def folder(self, digest: str, *, writable: bool) -> Path | None:
        dataset = self._cache.dataset(digest)
        tree = self._cache.tree(digest, writable=writable)
        if dataset is None or trees.is_intact(self._cache, dataset, writable=writable):
            return tree if dataset else None
        trees.mark_damaged(tree)
        return None

    def plan(self, source: DataSource) -> PlannedDataset:
        try:
            return planning.planned(self._cache, self._source(source.src), source)
        except OSError as error:
            raise full(self._cache, error) from error

    def free_bytes(self) -> int:
        return free_bytes(self._settings)

    def find(self, ref: str = "") -> Sequence[StoredDataset]:
        return maintenance.find(self._cache, ref)

    def verify(self, dataset: Dataset) -> Sequence[str]:
        return maintenance.verify(self._cache, dataset)

    def prune(
        self, *, before_s: float, most_bytes: int | None, kept: Sequence[DataSource], dry_run: bool = False
    ) -> Sequence[StoredDataset]:
        keys = {key_of(source) for source in kept}
        return maintenance.prune(
            self._cache, before_s=before_s, most_bytes=most_bytes, kept=keys, dry_run=dry_run
        )

    def open(self, sha256: str) -> BinaryIO:
        return maintenance.opened(self._cache, sha256)

    def export(self, dataset: Dataset, target: Path) -> None:
        maintenance.export(self._cache, dataset, target)

    def _ready(self, source: DataSource, writable: bool) -> Dataset | None:
        """A dataset with a declared digest that is complete; nothing is asked over the network.

        Whether the tree is damaged is checked by ``folder``, when the run starts: another run may damage it until then.
        """
        key = key_of(source)
        entry: Entry | None = self._cache.entry(key)
        dataset = self._cache.dataset(entry.digest) if entry and entry.is_on_disk else None
        if dataset is None or not trees.is_built(self._cache.tree(dataset.digest, writable=writable)):
            return None
        self._cache.used(key)
        return dataset

    def _start(self, source: DataSource, writable: bool) -> _Fetching:
        try:
            self._cache.make()
        except OSError as error:
            raise full(self._cache, error) from error
        key = key_of(source)
        transfer = Transfer(self._settings, lambda progress: self._cache.put_progress(key, source, progress))
        started = _Fetching(transfer)
        try:
            threading.Thread(
                target=self._run, args=(started, source, writable), name="fetch dataset", daemon=True
            ).start()
        except RuntimeError as error:
            raise StageError(
                f"cannot start a thread: {error}", cause=Cause.DATA, remedy="raise the limit on threads"
            ) from error
        return started

    def _run(self, started: _Fetching, source: DataSource, writable: bool) -> None:
        try:
            with self._room:
                started.dataset = self._fetched(started, source, writable)
        except BaseException as error:  # noqa: BLE001  raised in the thread that asks
            started.error = error
        started.ended.set()

    def _fetched(self, started: _Fetching, source: DataSource, writable: bool) -> Dataset:
        """Fetch the dataset, or wait until another process has fetched it."""
        adapter, key = self._source(source.src), key_of(source)
        while True:
            with self._cache.locked(key, wait=False) as held:
                if held:
                    started.elsewhere = None
                    dataset = fetching.fetch(self._cache, adapter, source, started.transfer)
                    with self._cache.locked("prune", shared=True):
                        if all(map(self._cache.has, dataset.files)):
                            self._build(dataset, writable)
                            return dataset
                    continue  # it was pruned in the meantime
            plain = self._cache.progress(key)
            started.elsewhere = FetchProgress(
                done_bytes=plain.get("done_bytes", 0), size_bytes=plain.get("size_bytes")
            )
            started.transfer.pause(_LOOK_S)

    def _build(self, dataset: Dataset, writable: bool) -> None:
        with self._cache.locked(f"tree-{dataset.digest.rpartition(':')[2]}"):
            if trees.is_intact(self._cache, dataset, writable=writable):
                return
            if writable:
                check_space(self._cache, dataset.size_bytes, self._settings)
            trees.build(self._cache, dataset, writable=writable)

    def _source(self, url: str) -> Source:
        scheme = url.partition(":")[0].lower()
        try:
            return self._sources[scheme]
        except PlugInError:
            raise
        except KeyError:
            raise PlugInError(
                f"no installed source reads {scheme}: addresses",
                remedy=f"use one of: {', '.join(sorted(self._sources))}",
            ) from None

    def _failure(self, error: BaseException | None) -> BaseException:
        """The error to raise for a fetch that failed."""
        if isinstance(error, OSError):
            return full(self._cache, error)
        if isinstance(error, AnubisError):
            return error
        log.error("fetching failed", exc_info=error)
        return StageError(
            f"fetching failed: {type(error).__name__}: {error}",
            cause=Cause.INTERNAL,
            remedy=Cause.INTERNAL.remedy,
        )
