"""Checks that a bucket can be used as copies need it."""

import os

from anubis.model.errors import ConflictError, StoreError
from anubis.store.bucket.connection import Bucket


def check(bucket: Bucket) -> str:
    """Write, read, list and delete a new key; what was found, as text. Raises StoreError.

    A service that ignores conditions cannot keep two writers of one archive apart, which the text says.
    """
    key = f"probe-{os.urandom(8).hex()}"
    bucket.put(key, b"first")
    try:
        if bucket.get(key) != b"first":
            raise StoreError(
                f"{bucket.url(key)} differs from what was written",
                remedy="check the service of the bucket, and what is between it and this machine",
            )
        if [each.key for each in bucket.list(key)] != [key]:
            raise StoreError(
                f"the bucket {bucket.address} does not list {key}",
                remedy="allow these credentials to list the bucket (s3:ListBucket)",
            )
        has_conditions = _has_conditions(bucket, key)
    finally:
        bucket.delete(key)
    if bucket.size(key) is not None:
        raise StoreError(
            f"{bucket.url(key)} remains after it was deleted",
            remedy="allow these credentials to delete objects (s3:DeleteObject)",
        )
    answer = f"{bucket.address} is written, read, listed and deleted"
    return (
        answer
        if has_conditions
        else f"{answer}; conditional writes are ignored: write an archive with one service"
    )


def _has_conditions(bucket: Bucket, key: str) -> bool:
    try:
        bucket.put_if(key, b"second", None)
    except ConflictError:
        return True
    return False
