"""Archives in a bucket: one writer at a time, also after one was killed."""

import io
import threading

import pytest

from anubis.model.errors import BadInputError, StoreError
from anubis.store.bucket import garbage, owner, probe
from anubis.store.bucket.archives import place_of
from anubis.store.bucket.lease import Lease
from anubis.store.bucket.records import BucketRecords
from anubis.store.bucket.watching import Watch
from anubis.testing import FakeClock, FakeStore, a_descriptor, a_run, an_event
from anubis.testing.worlds import a_world
from anubis.transfer.daily.archive import DAY_S, Archive

FAR_S = 1e12


def test_one_holder_at_a_time(bucket):
    first, second = Lease(bucket, "lock"), Lease(bucket, "lock")
    with first.held() as is_first:
        assert is_first
        first.check()
        with second.held() as is_second:
            assert not is_second
    with second.held() as is_second:
        assert is_second
    assert bucket.size("lock") is None


def test_the_lease_of_a_killed_holder_expires(bucket):
    killed = Lease(bucket, "lock")
    assert killed._take()
    with Lease(bucket, "lock", lease_s=60.0).held() as is_held:
        assert not is_held
    with Lease(bucket, "lock", lease_s=0.0).held() as is_held:
        assert is_held


def test_a_holder_that_was_too_slow_writes_nothing_more(bucket):
    slow, renewed = Lease(bucket, "lock", lease_s=0.003), threading.Event()
    put = slow._put

    def note(version):
        try:
            put(version)
        finally:
            if slow._count > 2:
                renewed.set()

    slow._put = note
    with slow.held():
        assert renewed.wait(60), "it is renewed"
        bucket.put("lock", b"another holder")
        while slow._version is not None:
            threading.Event().wait(0.001)
        with pytest.raises(StoreError, match="another process may write"):
            slow.check()
    assert bucket.get("lock") == b"another holder"


def test_daily_data_sets_in_a_bucket(bucket, bucket_server):
    pytest.importorskip("pyarrow")
    store, clock = FakeStore(), FakeClock()
    run = a_run()
    store.runs.add([(run, "")], [an_event(run, "submitted", time_s=clock.now_s())])
    clock.advance(2 * DAY_S)
    place = place_of(f"{bucket.address}/daily", bucket_server.endpoint)
    with pytest.raises(StoreError):
        place.objects.put("x", io.BytesIO(b"without the lease"))
    with place.locked() as is_writer:
        assert is_writer
        (manifest,) = Archive(place.objects).write(a_world(store, clock=clock))
    again = Archive(place_of(f"{bucket.address}/daily", bucket_server.endpoint).objects)
    assert again.manifest(manifest["day"])["files"] == manifest["files"]
    for file in manifest["files"]:
        assert bucket.size(f"daily/{file['path']}") == file["size_bytes"]


def test_garbage_in_the_bucket(bucket):
    runs = FakeStore().runs
    kept, needed, unused = (f"{letter * 64}.tar" for letter in "abc")
    run = a_run(a_descriptor())
    runs.add([(run, "text")], [])
    for key in (kept, needed, unused, "alias.tar"):
        bucket.put(f"objects/{key}", b"12345")
    for run_id in (run.id, a_run().id):
        bucket.put(f"records/{run_id}/a1.json", b"123")
        bucket.put(f"records/{run_id}/a1/x.zst", b"456")
    orphan = f"{bucket.address}/records/{run_id}"

    def find(database="sqlite:///x", before_s=FAR_S):
        return list(garbage.find(bucket, database, runs, lambda: {kept, needed}, before_s=before_s))

    assert find(before_s=0.0) == [], "too young"
    found = find()
    assert [(each.kind, each.path, each.size_bytes) for each in found] == [
        ("record", orphan, 6),
        ("script", bucket.url(f"objects/{unused}"), 5),
    ]
    for each in found * 2:
        garbage.remove(bucket, each)
    assert find() == []
    assert BucketRecords(bucket).attempts(run.id) == [1]


def test_the_copies_of_another_database_are_not_garbage(bucket):
    runs = FakeStore().runs
    url = "postgresql://{}@db.example.org/anubis"
    owner.claim(bucket, url.format("me:secret"))
    owner.claim(bucket, "sqlite:///another")
    assert list(garbage.find(bucket, url.format("other"), runs, set, before_s=FAR_S)) == []
    with pytest.raises(BadInputError, match="belong to another database"):
        list(garbage.find(bucket, "sqlite:///another", runs, set, before_s=FAR_S))
    assert b"secret" not in bucket.get(owner.OWNER)


def test_the_probe_leaves_nothing(bucket):
    assert bucket.address in probe.check(bucket)
    assert "ignored" not in probe.check(bucket)
    assert list(bucket.list("")) == []


@pytest.mark.parametrize(
    ("verb", "answer", "message"),
    [
        ("get", lambda key: b"other", "differs from what was written"),
        ("list", lambda prefix: iter(()), "does not list"),
        ("delete", lambda key: None, "remains after it was deleted"),
    ],
)
def test_a_bucket_without_a_right_is_reported(bucket, verb, answer, message):
    setattr(bucket, verb, answer)
    with pytest.raises(StoreError, match=message) as raised:
        probe.check(bucket)
    assert raised.value.remedy


def test_a_service_that_ignores_conditions_is_reported(bucket):
    bucket.put_if = lambda key, data, version: bucket.put(key, data)
    assert "write an archive with one service" in probe.check(bucket)


def test_a_look_at_the_bucket_delays_nothing(bucket, bucket_server):
    looks = []
    watch = Watch(bucket, looks.append)
    assert watch.problem() == ""
    assert len(looks) == 1
    assert watch.problem() == ""
    assert len(looks) == 1, "one at a time"
    with bucket_server.away():
        looks.pop()()
        assert watch.problem() != ""
