"""The database to which the copies in a bucket belong."""

import hashlib
from urllib.parse import urlsplit

from anubis.model.errors import BadInputError, ConflictError, NotFoundError
from anubis.store.bucket.connection import Bucket

#: Names the database whose runs the copies belong to.
OWNER = "database"


def claim(bucket: Bucket, database_url: str) -> None:
    """Note that the copies belong to this database, unless they belong to one already."""
    try:
        bucket.put_if(OWNER, _digest(database_url), None)
    except ConflictError:
        return


def check(bucket: Bucket, database_url: str) -> None:
    """Raise BadInputError if the copies belong to another database."""
    try:
        is_ours = bucket.get(OWNER) == _digest(database_url)
    except NotFoundError:  # nothing was copied yet
        return
    if not is_ours:
        raise BadInputError(
            f"nothing was deleted in {bucket.address}: its copies belong to another database, or this database has moved",
            remedy=f"use a separate prefix for each database; if this one has moved, delete {bucket.url(OWNER)}",
        )


def _digest(database_url: str) -> bytes:
    """The address of a database without its user, so that it can be compared but not read."""
    parts = urlsplit(database_url)
    place = f"{parts.scheme.partition('+')[0]}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return hashlib.sha256(place.encode()).hexdigest().encode()
