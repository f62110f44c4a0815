import pytest

from anubis.store import FolderObjects, FolderRecords
from anubis.store.bucket.copying import AttemptCopy, Outcome
from anubis.store.bucket.objects import BucketObjects, SharedObjects
from anubis.store.bucket.records import SharedRecords
from anubis.testing import FakeObjects, FakeRecords
from anubis.testing.contracts.folders import ObjectsContract
from anubis.testing.contracts.records import RecordsContract


class TestObjects(ObjectsContract):
    @pytest.fixture(params=["fake", "folder"])
    def objects(self, request, tmp_path):
        return FakeObjects() if request.param == "fake" else FolderObjects(tmp_path / "objects")


class TestObjectsInABucket(ObjectsContract):
    @pytest.fixture(params=["bucket", "folder and bucket"])
    def objects(self, request, tmp_path, bucket):
        if request.param == "bucket":
            return BucketObjects(bucket)
        return SharedObjects(tmp_path / "objects", bucket)


class TestRecords(RecordsContract):
    @pytest.fixture(params=["fake", "folder"])
    def records(self, request, tmp_path):
        return FakeRecords() if request.param == "fake" else FolderRecords(tmp_path / "records")


class CopiedRecords(SharedRecords):
    """Records that only a bucket has after each change."""

    def __init__(self, folder, bucket):
        super().__init__(FolderRecords(folder), folder, bucket)
        self._bucket = bucket

    def append(self, key, *words):
        return self._moved(key, lambda: super(CopiedRecords, self).append(key, *words))

    def replace(self, key, *words):
        return self._moved(key, lambda: super(CopiedRecords, self).replace(key, *words))

    def _moved(self, key, change):
        try:
            return change()
        finally:
            for attempt in self.here.attempts(key.run_id):
                copy = AttemptCopy(self._bucket, self.here, key.run_id, attempt, "home")
                assert copy.copy(final=True) is Outcome.COMPLETE
                self.there.manifest(key.run_id, attempt, fresh=True)
            self.here.remove(key.run_id)


class TestRecordsInABucket(RecordsContract):
    @pytest.fixture(params=["in the folder", "in the bucket"])
    def records(self, request, tmp_path, bucket):
        folder = tmp_path / "records"
        if request.param == "in the bucket":
            return CopiedRecords(folder, bucket)
        return SharedRecords(FolderRecords(folder), folder, bucket)
