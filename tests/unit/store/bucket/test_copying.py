"""Records that are copied to a bucket: killed at any request, damaged there, and with two home folders."""

import random

import pytest

from anubis.contracts.records import RecordKey, RoleFiles
from anubis.model.errors import StoreError
from anubis.model.ids import new_run_id
from anubis.record import layout
from anubis.record.files import reader
from anubis.store import FolderRecords
from anubis.store.bucket import manifest as manifests
from anubis.store.bucket.connection import BucketAwayError, DamagedObjectError
from anubis.store.bucket.copying import AttemptCopy, Outcome
from anubis.store.bucket.records import BucketRecords

LARGE = random.Random(7).randbytes(9 << 20)
OUT, EXIT = layout.STDOUT, layout.EXIT


@pytest.fixture
def key():
    return RecordKey(new_run_id(), 1)


@pytest.fixture
def here(tmp_path):
    return FolderRecords(tmp_path / "records")


def content(records, key, file):
    return reader(RoleFiles(records, key), file).read()


def of_bucket(bucket, key):
    """Every file of the attempt as a new reader sees it."""
    records = BucketRecords(bucket)
    listed = records.list(key.run_id, key.attempt)
    found = {(each.key, each.file): content(records, each.key, each.file) for each in listed}
    assert {(each.key, each.file): each.size_bytes for each in listed} == {
        place: len(data) for place, data in found.items()
    }
    return found


def copied(bucket, here, key, *, home="home", final=True):
    return AttemptCopy(bucket, here, key.run_id, key.attempt, home).copy(final=final)


class KilledError(BaseException):
    pass


class Killed:
    """A bucket of a process that is killed before, or after, one of its requests that change something."""

    def __init__(self, bucket, left, *, after):
        self._bucket, self._left, self._after = bucket, left, after

    def __getattr__(self, name):
        call = getattr(self._bucket, name)
        if name not in {"put", "delete"}:
            return call

        def counted(*words):
            if self._left == 0 and not self._after:
                raise KilledError
            call(*words)
            self._left -= 1
            if self._left < 0:
                raise KilledError

        return counted


def test_a_record_that_grows_is_copied_in_parts_and_read_anywhere(bucket, here, key):
    copy = AttemptCopy(bucket, here, key.run_id, 1, "home")
    size = 0
    for length in (100, 200_000, 0, 300_000, 5_000_000, len(LARGE)):
        size = max(size, min(length + size, len(LARGE)))
        here.append(key, OUT, 0, LARGE[:size])
        assert copy.copy(final=False) is Outcome.PARTIAL
        assert of_bucket(bucket, key) == {(key, OUT): LARGE[:size]}
    here.replace(key, EXIT, b"{}")
    here.append(key, "work/model.bin", 0, b"weights")
    assert copy.copy(final=True) is Outcome.COMPLETE
    everything = {(key, EXIT): b"{}", (key, OUT): LARGE, (key, "work/model.bin"): b"weights"}
    assert of_bucket(bucket, key) == everything
    found = BucketRecords(bucket).manifest(key.run_id, 1)
    assert found.complete
    stored = {each.key for each in bucket.list(manifests.parts_prefix(key.run_id, 1))}
    assert stored == {found.part_key(part) for part in found.parts()}, "replaced parts are deleted"
    assert BucketRecords(bucket).read(key, OUT, 4_194_300, 10) == LARGE[4_194_300:4_194_310]


@pytest.mark.parametrize("after", [False, True])
def test_a_copy_that_is_killed_at_any_request_is_continued(bucket, here, key, after):
    server = RecordKey(key.run_id, 1, "server", 1)
    for requests in range(12):
        here.append(key, OUT, 0, b"".join(b"%d\n" % line for line in range(1000 * (requests + 1))))
        here.append(server, OUT, 0, LARGE[: 400_000 * (requests + 1)])
        here.replace(key, layout.METRICS, b"%d" % requests)
        killed = AttemptCopy(Killed(bucket, requests % 5, after=after), here, key.run_id, 1, "home")
        try:
            killed.copy(final=requests > 5)
        except KilledError:
            pass
        else:
            assert requests % 5 > 2
        for (of, file), data in of_bucket(bucket, key).items():
            if file == OUT:
                assert content(here, of, file).startswith(data), "what is visible is never wrong"
    assert copied(bucket, here, key) is Outcome.COMPLETE
    assert of_bucket(bucket, key) == {
        (each.key, each.file): content(here, each.key, each.file) for each in here.list(key.run_id, 1)
    }


def damages(bucket, key):
    """The first part of the record, and contents that it must not have."""
    part_key = next(each.key for each in bucket.list(manifests.parts_prefix(key.run_id, 1)))
    stored = bucket.get(part_key)
    other = manifests.packed(b"other bytes of the same length"[:30])
    return part_key, [b"", stored[:-1], stored[:10], b"x" * len(stored), other]


def test_a_damaged_object_is_never_read_and_is_sent_again(bucket, here, key):
    here.append(key, OUT, 0, b"these thirty bytes are correct")
    assert copied(bucket, here, key) is Outcome.COMPLETE
    part_key, contents = damages(bucket, key)
    for damage in [*contents, None]:
        bucket.delete(part_key)
        if damage is not None:
            bucket.put(part_key, damage)
        with pytest.raises(DamagedObjectError):
            of_bucket(bucket, key)
        assert copied(bucket, here, key) is Outcome.COMPLETE
        assert of_bucket(bucket, key) == {(key, OUT): b"these thirty bytes are correct"}


def test_a_bucket_that_stores_other_bytes_is_an_error(bucket, here, key):
    class Truncating:
        def __getattr__(self, name):
            return getattr(bucket, name)

        def put(self, place, data):
            bucket.put(place, data[:-3] if place.endswith(".zst") else data)

    here.append(key, OUT, 0, b"output")
    with pytest.raises(StoreError, match="differs from what was sent"):
        copied(Truncating(), here, key)
    found = BucketRecords(bucket).manifest(key.run_id, 1)
    assert found is None or not found.complete


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"{}", b'{"version": 2}', b"[" * 100_000])
def test_a_damaged_manifest_is_noticed_and_written_again(bucket, here, key, damage):
    here.append(key, OUT, 0, b"output")
    copied(bucket, here, key)
    bucket.put(manifests.manifest_key(key.run_id, 1), damage)
    with pytest.raises(DamagedObjectError):
        of_bucket(bucket, key)
    assert copied(bucket, here, key) is Outcome.COMPLETE
    assert of_bucket(bucket, key) == {(key, OUT): b"output"}


def test_two_home_folders_do_not_overwrite_each_other(bucket, tmp_path, key):
    first, second, third = (FolderRecords(tmp_path / name) for name in ("first", "second", "third"))
    first.append(key, OUT, 0, b"the whole output")
    second.append(key, OUT, 0, b"the whole")
    third.append(key, OUT, 0, b"something else")
    assert copied(bucket, second, key, home="second", final=False) is Outcome.PARTIAL
    assert copied(bucket, first, key, home="first") is Outcome.COMPLETE, "what it has begins with the other"
    assert copied(bucket, second, key, home="second") is Outcome.MORE
    assert copied(bucket, third, key, home="third") is Outcome.LEFT
    assert of_bucket(bucket, key) == {(key, OUT): b"the whole output"}
    assert copied(bucket, first, key, home="restored") is Outcome.COMPLETE


def test_a_bucket_that_is_away_is_asked_again_only_after_a_pause(bucket, bucket_server, here, key):
    here.append(key, OUT, 0, b"output")
    with bucket_server.away():
        with pytest.raises(BucketAwayError):
            copied(bucket, here, key)
        assert bucket.is_away
    with pytest.raises(BucketAwayError):
        copied(bucket, here, key)
    bucket._monotonic_s = lambda: float("inf")
    assert copied(bucket, here, key) is Outcome.COMPLETE
