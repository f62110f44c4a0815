"""A cache of datasets with real sources, and quick settings."""

from anubis.datasets.cached import CachedDatasets
from anubis.datasets.limits import FetchSettings
from anubis.sources.file import FileSource
from anubis.sources.http import HttpSource
from anubis.sources.web import Web


def settings_in(folder, **changes):
    quick = {"min_free_bytes": 0, "back_off_s": 0.0, "patience_s": 5.0, "attempts": 3, "connections": 4}
    return FetchSettings(**{"folder": folder / "data", **quick, **changes})


def cache_in(folder, **changes):
    """A cache that reads files of this machine and loopback servers."""
    settings = settings_in(folder, **changes)
    web = HttpSource(Web(link_local=False, patience_s=settings.patience_s))
    return CachedDatasets(settings, {"file": FileSource(), "http": web})
