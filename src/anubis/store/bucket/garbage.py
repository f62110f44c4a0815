"""Objects in a bucket that nothing refers to: records of runs that are not stored, and scripts of purged runs."""

import re
from collections.abc import Callable, Collection, Iterator

from anubis.contracts.garbage import Garbage
from anubis.contracts.runs import RunQuery, Runs
from anubis.record import layout
from anubis.store.bucket import manifest as manifests
from anubis.store.bucket.connection import Bucket, Found
from anubis.store.bucket.objects import OBJECTS
from anubis.store.bucket.owner import check
from anubis.store.bucket.records import BucketRecords

_ARCHIVE = re.compile(rf"{OBJECTS}[0-9a-f]{{64}}\.tar")
_BATCH = 500


def find(
    bucket: Bucket, database_url: str, runs: Runs, needed: Callable[[], Collection[str]], *, before_s: float
) -> Iterator[Garbage]:
    """What was last changed before ``before_s`` (UTC seconds), and has no owner. ``needed`` returns the keys of scripts.

    Raises BadInputError if the copies are those of another database.
    """
    check(bucket, database_url)
    yield from _records(bucket, runs, before_s)
    archives = [
        each for each in bucket.list(OBJECTS) if _ARCHIVE.fullmatch(each.key) and each.modified_s < before_s
    ]
    kept = needed() if archives else ()
    for each in archives:
        if each.key.removeprefix(OBJECTS) not in kept:
            yield Garbage("script", bucket.url(each.key), each.size_bytes)


def remove(bucket: Bucket, garbage: Garbage) -> None:
    """Delete it; no error if it does not exist."""
    key = str(garbage.path).removeprefix(f"{bucket.address}/")
    if garbage.kind == "record":
        BucketRecords(bucket).remove(key.removeprefix(manifests.RECORDS))
    else:
        bucket.delete(key)


def _records(bucket: Bucket, runs: Runs, before_s: float) -> Iterator[Garbage]:
    batch: dict[str, list[Found]] = {}
    for each in bucket.list(manifests.RECORDS):
        run_id = each.key.removeprefix(manifests.RECORDS).partition("/")[0]
        if run_id not in batch and len(batch) == _BATCH:
            yield from _unknown(bucket, runs, batch, before_s)
            batch = {}
        if layout.is_run_id(run_id):
            batch.setdefault(run_id, []).append(each)
    yield from _unknown(bucket, runs, batch, before_s)


def _unknown(bucket: Bucket, runs: Runs, batch: dict[str, list[Found]], before_s: float) -> Iterator[Garbage]:
    old = {
        run_id: found for run_id, found in batch.items() if all(each.modified_s < before_s for each in found)
    }
    known = {row.id for row in runs.find(RunQuery(ids=tuple(old), limit=_BATCH))} if old else set()
    for run_id, found in old.items():
        if run_id not in known:
            size_bytes = sum(each.size_bytes for each in found)
            yield Garbage("record", bucket.url(f"{manifests.RECORDS}{run_id}"), size_bytes)
