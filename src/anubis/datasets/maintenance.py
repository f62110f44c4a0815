"""Lists, verifies, deletes and exports what is in the cache."""

import contextlib
import hashlib
import re
import shutil
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from anubis.contracts.datasets import Dataset, FetchProgress, StoredDataset
from anubis.datasets import trees
from anubis.datasets.cache_folder import CacheFolder
from anubis.model.errors import BadInputError, NotFoundError, disk_error

#: Files that belong to no dataset are deleted this long after they were stored: they may belong to one that is being
#: fetched. Seconds.
_NEW_S = 3600.0
_BUFFER = 1 << 20
_SHA256 = re.compile("[0-9a-f]{64}")


def find(cache: CacheFolder, ref: str = "") -> list[StoredDataset]:
    """What is stored or being fetched, last used first; only what ``ref`` names: a digest, its beginning, an address."""
    rows = [*_complete(cache), *_incomplete(cache)]
    named = [row for row in rows if _is_named(row, ref)] if ref else rows
    return sorted(named, key=lambda row: row.used_s, reverse=True)


def verify(cache: CacheFolder, dataset: Dataset) -> list[str]:
    """Read all files of a dataset and remove those that are damaged or missing; their paths."""
    damaged = []
    for file in dataset.files:
        path = cache.file(file.sha256)
        try:
            with path.open("rb") as stream:
                good = hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
        except FileNotFoundError:
            good = False
        except OSError as error:
            raise disk_error(f"{path} cannot be read", error) from error
        if not good:
            path.unlink(missing_ok=True)
            damaged.append(file.path)
    if damaged:
        for writable in (True, False):
            trees.remove(cache.tree(dataset.digest, writable=writable))
    return damaged


def prune(
    cache: CacheFolder, *, before_s: float, most_bytes: int | None, kept: Collection[str], dry_run: bool
) -> list[StoredDataset]:
    """Delete what was last used before ``before_s``, and the least recently used above ``most_bytes``.

    ``kept``: keys of sources whose datasets remain.
    """
    if not cache.folder.exists():
        return []
    with cache.locked("prune"):
        removed = list(_to_remove(cache, before_s=before_s, most_bytes=most_bytes, kept=kept))
        if not dry_run:
            for key, _ in removed:
                _remove(cache, key)
            _remove_unused(cache)
    return [row for _, row in removed]


def opened(cache: CacheFolder, sha256: str) -> BinaryIO:
    """The content of a stored file. Raises NotFoundError."""
    try:
        if _SHA256.fullmatch(sha256):
            return cache.file(sha256).open("rb")
    except FileNotFoundError:
        pass
    raise NotFoundError(
        f"no file of a dataset with the SHA-256 {sha256[:64]} is stored",
        remedy="run a benchmark that uses the dataset: it is fetched again",
    )


def export(cache: CacheFolder, dataset: Dataset, target: Path) -> None:
    """Copy a dataset to a path that does not exist yet. Raises BadInputError, StoreError."""
    if target.exists() or target.is_symlink():
        raise BadInputError(f"{target} exists already", remedy="name a path that does not exist")
    if missing := [file for file in dataset.files if not cache.has(file)]:
        raise BadInputError(
            f"{len(missing)} of {len(dataset.files)} files of the dataset are not stored",
            remedy="run a benchmark that uses the dataset: it is fetched again",
        )
    try:
        for file in dataset.files:
            path = target / file.path if file.path else target
            path.parent.mkdir(parents=True, exist_ok=True)
            trees.copy(cache.file(file.sha256), path)
            path.chmod(0o644)
    except OSError as error:
        with contextlib.suppress(OSError):
            if target.is_dir():
                shutil.rmtree(target)
            target.unlink(missing_ok=True)
        raise disk_error(f"the dataset cannot be copied to {target}", error) from error


def _complete(cache: CacheFolder) -> Iterator[StoredDataset]:
    yield from (row for key in cache.complete() if (row := _row(cache, key)) is not None)


def _row(cache: CacheFolder, key: str) -> StoredDataset | None:
    entry = cache.entry(key)
    dataset = cache.dataset(entry.digest) if entry else None
    if entry is None or dataset is None:
        return None
    return StoredDataset(
        src=entry.src,
        dataset=dataset,
        fetched_s=entry.fetched_s,
        used_s=cache.used_s(key),
        declared=entry.declared,
        unpacked=entry.unpacked,
    )


def _incomplete(cache: CacheFolder) -> Iterator[StoredDataset]:
    for key in cache.begun():
        if plain := cache.progress(key):
            changed_s = cache.parts(key).stat().st_mtime
            yield StoredDataset(
                src=plain["src"],
                dataset=None,
                fetched_s=changed_s,
                used_s=changed_s,
                declared=plain["declared"],
                progress=FetchProgress(done_bytes=plain["done_bytes"], size_bytes=plain["size_bytes"]),
            )


def _is_named(row: StoredDataset, ref: str) -> bool:
    digests = [row.dataset.digest if row.dataset else "", row.declared]
    beginnings = [text for digest in digests if digest for text in (digest, digest.partition(":")[2])]
    return row.src == ref or any(text.startswith(ref.lower()) for text in beginnings)


def _to_remove(
    cache: CacheFolder, *, before_s: float, most_bytes: int | None, kept: Collection[str]
) -> Iterator[tuple[str, StoredDataset]]:
    rows = [(key, row) for key in cache.complete() if (row := _row(cache, key)) is not None]
    rows.sort(key=lambda pair: pair[1].used_s)
    total = sum(row.dataset.size_bytes for _, row in rows if row.dataset)
    for key, row in rows:
        too_large = most_bytes is not None and total > most_bytes
        if key not in kept and row.dataset and (row.used_s < before_s or too_large):
            total -= row.dataset.size_bytes
            yield key, row
    for key in cache.begun():
        plain = cache.progress(key)
        if key not in kept and plain and cache.parts(key).stat().st_mtime < before_s:
            yield from ((key, row) for row in _incomplete(cache) if row.src == plain["src"])


def _remove(cache: CacheFolder, key: str) -> None:
    """Remove a source, unless a process fetches it now."""
    with cache.locked(key, wait=False) as held:
        if held:
            cache.remove_entry(key)
            shutil.rmtree(cache.parts(key), ignore_errors=True)


def _remove_unused(cache: CacheFolder) -> None:
    """Delete the datasets of no source, their trees, and the content that no dataset has."""
    digests = {entry.digest for key in cache.complete() if (entry := cache.entry(key))}
    fetched = {entry.fetched_digest for key in cache.complete() if (entry := cache.entry(key))}
    used = {digest.rpartition(":")[2] for digest in fetched}
    names = {digest.rpartition(":")[2] for digest in digests}
    for path in cache.children("sets"):
        if path.stem not in names:
            path.unlink(missing_ok=True)
    for digest in digests:
        if dataset := cache.dataset(digest):
            used.update(file.sha256 for file in dataset.files)
    for path in cache.children("trees"):
        if path.name.partition(".")[0] not in names:
            trees.remove(path)
    oldest_s = time.time() - _NEW_S
    for folder in cache.children("files"):
        for path in folder.iterdir():
            if path.name not in used and path.stat().st_ctime < oldest_s:
                path.unlink(missing_ok=True)
