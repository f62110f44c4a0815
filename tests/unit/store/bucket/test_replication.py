"""The chore that copies a home folder to a bucket, and what it leaves in the home folder."""

import io
import os

import pytest

from anubis.contracts.records import RecordKey
from anubis.model.errors import StoreError
from anubis.model.ids import new_run_id
from anubis.model.status import Status
from anubis.record import layout
from anubis.store import FolderObjects, FolderRecords
from anubis.store.bucket import manifest as manifests
from anubis.store.bucket.chore import LONGEST_PAUSE_S, Copied, Replication
from anubis.store.bucket.connection import Bucket
from anubis.store.bucket.manifest import COPIED
from anubis.store.bucket.objects import BucketObjects, SharedObjects
from anubis.store.bucket.records import BucketRecords, SharedRecords
from anubis.testing import FakeClock, FakeStore, a_run
from anubis.testing.builders import NOW_S

KEEP_S = 3600.0
DIGEST = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # of no bytes


class Home:
    """A home folder with a chore, and the runs of its database."""

    def __init__(self, folder, bucket, runs):
        self.folder, self.bucket, self.runs, self.clock = folder, bucket, runs, FakeClock()
        bucket._monotonic_s = self.clock.monotonic_s
        self.here = FolderRecords(folder / "records")
        self.records = SharedRecords(self.here, folder / "records", bucket)
        self.objects = SharedObjects(folder / "objects", bucket)
        folder.mkdir(mode=0o700)

    def chore(self, keep_s=None):
        copied = Copied(
            home=self.folder, records=self.folder / "records", database_url="sqlite:///x", keep_s=keep_s
        )
        return Replication(self.bucket, copied, self.runs, self.objects, self.clock)

    def a_run(self, status=Status.SUCCEEDED, content=b"output"):
        run = a_run(status=status, created_s=NOW_S)
        self.runs.add([(run, "text")], [])
        key = RecordKey(run.id, 1)
        self.here.append(key, layout.STDOUT, 0, content)
        self.here.replace(key, layout.EXIT, b"{}")
        return key

    def is_here(self, key):
        return self.here.attempts(key.run_id) != []

    def is_copied(self, key):
        found = BucketRecords(self.bucket).manifest(key.run_id, 1)
        return found is not None and found.complete


@pytest.fixture
def runs():
    return FakeStore().runs


@pytest.fixture
def home(tmp_path, bucket, runs):
    return Home(tmp_path / "home", bucket, runs)


def test_final_runs_are_copied_once_and_others_while_they_grow(home, bucket):
    final, growing = home.a_run(), home.a_run(Status.WATCH)
    home.here.append(RecordKey(new_run_id(), 1), layout.STDOUT, 0, b"of a purged run")
    chore = home.chore()
    assert chore.turn() > 0
    assert home.is_copied(final)
    assert BucketRecords(bucket).read(growing, layout.STDOUT, 0, 100) == b"output"
    assert not home.is_copied(growing)
    assert len({each.key.split("/")[1] for each in bucket.list(manifests.RECORDS)}) == 2
    home.here.append(growing, layout.STDOUT, 6, b" and more")
    home.clock.advance(LONGEST_PAUSE_S)
    chore.turn()
    assert BucketRecords(bucket).read(growing, layout.STDOUT, 0, 100) == b"output and more"
    bucket.put = None  # what is copied is not written again
    home.clock.advance(LONGEST_PAUSE_S)
    assert chore.turn() > 0
    assert not any(each.name == COPIED for each in (home.folder / "records" / growing.run_id).iterdir())
    assert (home.folder / "records" / final.run_id / COPIED).read_text() == bucket.address


def test_one_process_copies_at_a_time(home):
    key = home.a_run()
    first, second = home.chore(), home.chore()
    first.turn()
    assert home.is_copied(key)
    later = home.a_run()
    assert second.turn() is None
    assert not home.is_copied(later)
    del first
    assert second.turn() is None
    assert home.is_copied(later)


def test_what_waits_is_copied_when_the_bucket_answers_again(home, bucket_server, caplog):
    chore = home.chore()
    with bucket_server.away():
        key = home.a_run()
        home.objects.put("a.tar", io.BytesIO(b"script"))
        for _ in range(3):
            assert chore.turn() > 0
            home.clock.advance(60)
        assert home.records.read(key, layout.STDOUT, 0, 100) == b"output"
        assert home.records.attempts(key.run_id) == [1]
        new = RecordKey(new_run_id(), 1)
        assert home.records.append(new, layout.STDOUT, 0, b"written meanwhile") == 17
    assert [each.message for each in caplog.records if "records and objects are copied later" in each.message]
    assert len(caplog.records) <= 4, "not one in each turn"
    home.clock.advance(60)
    assert chore.turn() is None
    assert home.is_copied(key)
    assert home.bucket.get("objects/a.tar") == b"script"


def test_a_record_is_removed_here_only_if_the_bucket_has_all_of_it(home, bucket):
    key, damaged, longer = home.a_run(), home.a_run(content=b"other"), home.a_run()
    packed = home.a_run(content=b"packed")
    home.here.pack(packed.run_id)
    chore = home.chore(KEEP_S)
    chore.turn()
    assert not (home.folder / "records" / packed.run_id / "a1").exists(), "it is packed again"
    assert all(map(home.is_here, (key, damaged, longer, packed)))
    for each in (key, damaged, longer, packed):
        os.utime(home.folder / "records" / each.run_id / COPIED, (NOW_S, NOW_S))
    found = BucketRecords(bucket).manifest(damaged.run_id, 1)
    bucket.delete(found.part_key(next(found.parts())))
    home.here.append(longer, layout.STDOUT, 6, b" after the end")
    home.clock.advance(KEEP_S + 61)
    chore.turn()
    assert [home.is_here(each) for each in (key, damaged, longer, packed)] == [False, True, True, False]
    assert home.records.read(key, layout.STDOUT, 0, 100) == b"output"
    assert home.records.read(packed, layout.STDOUT, 0, 100) == b"packed"
    assert home.is_copied(damaged)
    assert BucketRecords(bucket).read(longer, layout.STDOUT, 0, 100) == b"output after the end"


def test_another_bucket_gets_everything(home, bucket, bucket_server):
    key = home.a_run()
    home.chore().turn()
    bucket_server.create("another")
    home.bucket = Bucket("s3://another", bucket_server.endpoint)
    assert home.chore().turn() is None
    assert home.is_copied(key)
    home.bucket.close()


def test_objects_of_the_bucket_are_checked_and_kept_here(home, bucket, tmp_path):
    elsewhere = BucketObjects(bucket)
    elsewhere.put(f"{DIGEST}.tar", io.BytesIO(b""))
    elsewhere.put("other.tar", io.BytesIO(b"without a digest"))
    for key, content in ((f"{DIGEST}.tar", b""), ("other.tar", b"without a digest")):
        with home.objects.open(key) as stream:
            assert stream.read() == content
        with FolderObjects(home.folder / "objects").open(key) as stream:
            assert stream.read() == content
    wrong = f"{'0' * 64}.tar"
    elsewhere.put(wrong, io.BytesIO(b"something"))
    with pytest.raises(StoreError, match="is damaged"):
        home.objects.open(wrong)
    assert not (home.folder / "objects" / wrong).exists()


def test_a_purged_record_is_gone_in_both_places(home, bucket):
    key = home.a_run()
    home.chore().turn()
    home.records.remove(key.run_id)
    assert not home.is_here(key)
    assert list(bucket.list(manifests.RECORDS)) == []


def test_a_pending_record_is_known_as_such(home, bucket, tmp_path):
    key = home.a_run(Status.WATCH)
    other = SharedRecords(FolderRecords(tmp_path / "other"), tmp_path / "other", bucket)
    assert not other.is_pending(key.run_id, 1), "nothing of it is known"
    home.chore().turn()
    assert other.is_pending(key.run_id, 1)
    assert not home.records.is_pending(key.run_id, 1)


def test_a_record_that_cannot_be_copied_does_not_delay_others(home, bucket):
    keys = [home.a_run(content=b"%d" % number) for number in range(20)]
    path = home.folder / "records" / keys[3].run_id / "a1/benchmark/0/stdout"
    path.chmod(0)
    chore = home.chore()
    failing, put = keys[5].run_id, bucket.put

    def refuse(place, data):
        if failing in place:
            raise StoreError("refused", remedy="none")
        put(place, data)

    bucket.put = refuse
    assert chore.turn() > 0
    assert [number for number, key in enumerate(keys) if not home.is_copied(key) and number != 3] == [5]
    bucket.put = put
    assert chore.turn() is None
    assert home.is_copied(keys[5])


def test_a_record_is_purged_while_the_bucket_is_away(home, bucket, bucket_server):
    key = home.a_run()
    home.chore().turn()
    with bucket_server.away():
        home.records.remove(key.run_id)
        assert not home.is_here(key)
    home.clock.advance(60)
    assert home.is_copied(key), "until garbage is collected"
