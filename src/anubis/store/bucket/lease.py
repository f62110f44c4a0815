"""The right to write something in a bucket, for one process at a time."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from anubis.model.errors import ConflictError, NotFoundError, StoreError
from anubis.store.bucket.connection import Bucket

log = logging.getLogger(__name__)

#: A lease that was not renewed for so long may be taken by another process, seconds, by the clock of the bucket.
LEASE_S = 60.0


class Lease:
    """A lease in an object that its holder replaces every third of its duration.

    The age of the object is the difference of two times of the service, so clocks of other machines do not matter. Needs a
    service with conditional writes.
    """

    def __init__(self, bucket: Bucket, key: str, lease_s: float = LEASE_S) -> None:
        self._bucket = bucket
        self._key = key
        self._lease_s = lease_s
        self._name = os.urandom(16).hex()
        self._count = 0
        self._version: str | None = None

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Hold the lease until the end of the block; False: another process has it."""
        if not self._take():
            yield False
            return
        ended = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(ended,), name="lease", daemon=True)
        keeper.start()
        try:
            yield True
        finally:
            ended.set()
            keeper.join()
            if self._version is not None:
                self._bucket.delete(self._key)
                self._version = None

    def check(self) -> None:
        """Raise StoreError if the lease is lost."""
        if self._version is None:
            raise StoreError(
                f"another process may write now, because {self._bucket.url(self._key)} was not renewed in time",
                remedy="try again; what was written before is valid",
            )

    def _take(self) -> bool:
        try:
            self._put(None)
        except ConflictError:
            try:
                age_s, version = self._bucket.age(self._key)
                if age_s < self._lease_s:
                    return False
                self._put(version)
            except (NotFoundError, ConflictError):  # released, or taken, meanwhile
                return False
        return True

    def _keep(self, ended: threading.Event) -> None:
        while not ended.wait(self._lease_s / 3):
            try:
                self._put(self._version)
            except (StoreError, ConflictError, NotFoundError) as error:
                log.warning("the lease %s is lost: %s", self._bucket.url(self._key), error)
                self._version = None
                return

    def _put(self, version: str | None) -> None:
        self._count += 1  # equal content would have an equal version
        self._version = self._bucket.put_if(self._key, f"{self._name} {self._count}".encode(), version)
