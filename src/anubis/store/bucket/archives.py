"""Where daily data sets are written: a folder, or a prefix of a bucket."""

from functools import partial
from pathlib import Path
from typing import BinaryIO

from anubis.store.bucket.connection import Bucket
from anubis.store.bucket.lease import Lease
from anubis.store.bucket.objects import BucketObjects
from anubis.store.folders import FolderObjects
from anubis.transfer.daily import archive

_LOCK = "lock"


def place_of(place: Path | str, endpoint: str = "") -> archive.Place:
    """The place of an archive: a folder, or the address ``s3://BUCKET/PREFIX`` at an endpoint."""
    if isinstance(place, Path):
        return archive.Place(str(place), FolderObjects(place), partial(archive.locked, place))
    bucket = Bucket(place, endpoint)
    lease = Lease(bucket, _LOCK)
    return archive.Place(bucket.address, _Leased(bucket, lease), lease.held)


class _Leased(BucketObjects):
    """Objects that are written only under a lease."""

    def __init__(self, bucket: Bucket, lease: Lease) -> None:
        super().__init__(bucket, "")
        self._lease = lease

    def put(self, key: str, stream: BinaryIO) -> int:
        self._lease.check()
        return super().put(key, stream)
