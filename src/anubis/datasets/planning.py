"""What fetching a dataset would transfer, found without fetching it."""

from anubis.contracts.datasets import PlannedDataset
from anubis.contracts.source import Source, shown_address
from anubis.datasets.cache_folder import CacheFolder, Entry, key_of
from anubis.datasets.fetching import stored
from anubis.model.errors import AnubisError
from anubis.model.server import DataSource


def planned(cache: CacheFolder, adapter: Source, source: DataSource) -> PlannedDataset:
    """The size of a dataset, and how much of it is stored. Asks the source once, unless the digest is declared and stored."""
    entry: Entry | None = cache.entry(key_of(source))
    known = stored(cache, entry)
    address = shown_address(source.src)
    if entry and known and source.digest:
        return PlannedDataset(src=address, size_bytes=known.size_bytes, stored_bytes=known.size_bytes)
    try:
        files = adapter.find(source.src, entry.version if entry and known else "")
    except AnubisError as error:
        return PlannedDataset(src=address, problem=error.message)
    if files is None:
        size = known.size_bytes if known else 0
        return PlannedDataset(src=address, size_bytes=size, stored_bytes=size)
    here = {(file.path, file.version) for file in known.files} if known and not source.unpack else set()
    sizes = [file.size_bytes for file in files]
    kept = [file.size_bytes or 0 for file in files if file.version and (file.path, file.version) in here]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    return PlannedDataset(src=address, size_bytes=total, stored_bytes=sum(kept))
