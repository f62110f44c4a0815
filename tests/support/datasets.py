"""A cache of datasets with real sources, and quick settings."""

from anubis.contracts.datasets import FetchProgress
from anubis.datasets.cached import CachedDatasets
from anubis.datasets.limits import FetchSettings
from anubis.model.server import DataSource
from anubis.sources.file import FileSource
from anubis.sources.http import HttpSource
from anubis.sources.network import NetworkSettings
from anubis.sources.web import Web


def settings_in(folder, **changes):
    quick = {"min_free_bytes": 0, "back_off_s": 0.0, "patience_s": 5.0, "attempts": 3, "connections": 4}
    return FetchSettings(**{"folder": folder / "data", **quick, **changes})


def cache_in(folder, **changes):
    """A cache that reads files of this machine and loopback servers."""
    settings = settings_in(folder, **changes)
    web = HttpSource(Web(NetworkSettings(patience_s=settings.patience_s)))
    return CachedDatasets(settings, {"file": FileSource(), "http": web})


def fetched(cache, src, *, writable=True, **more):
    """The dataset of a source, as soon as it is here; or the error."""
    source = DataSource(src=src, path="/data", **more)
    while isinstance(answer := cache.fetch(source, writable=writable), FetchProgress):
        for active in list(cache._active.values()):
            assert active.ended.wait(60)
    return answer


def content(cache, dataset, *, writable=True):
    """The bytes of all files of a dataset, by path, as a benchmark reads them."""
    top = cache.folder(dataset.digest, writable=writable)
    return {file.path: (top / file.path if file.path else top).read_bytes() for file in dataset.files}
