"""The disk space of the cache."""

import errno
import shutil

from anubis.datasets.cache_folder import CacheFolder
from anubis.datasets.limits import FetchSettings
from anubis.model.cause import Cause
from anubis.model.errors import StageError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REMEDY = (
    "free disk space, for example with anubis data prune, or set ANUBIS_DATA to a folder on a larger disk"
)


def check_space(cache: CacheFolder, needed: int, settings: FetchSettings) -> None:
    """Raises StageError if so many more bytes do not leave the reserve on the disk."""
    free = shutil.disk_usage(cache.folder).free
    if needed + settings.min_free_bytes > free:
        raise StageError(
            f"the data need {needed >> 20} MiB in {cache.folder}, where {free >> 20} MiB are free; "
            f"{settings.min_free_bytes >> 20} MiB are kept free",
            cause=Cause.DISK_FULL,
            remedy=_REMEDY,
        )


def free_bytes(settings: FetchSettings) -> int:
    """The space that fetching may use on the disk of the cache, whose folder need not exist yet."""
    folder = next(path for path in (settings.folder, *settings.folder.absolute().parents) if path.exists())
    return max(0, shutil.disk_usage(folder).free - settings.min_free_bytes)


def full(cache: CacheFolder, error: OSError) -> StageError:
    """The error for a file of the cache that cannot be written."""
    if error.errno in _FULL:
        return StageError(
            f"the disk that holds {cache.folder} is full", cause=Cause.DISK_FULL, remedy=_REMEDY
        )
    return StageError(
        f"the cache of datasets in {cache.folder} cannot be used: {error}",
        cause=Cause.DATA,
        remedy="check the disk and the permissions of that folder",
    )
