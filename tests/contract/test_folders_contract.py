import pytest

from anubis.store import FolderObjects, FolderRecords
from anubis.testing import FakeObjects, FakeRecords
from anubis.testing.contracts.folders import ObjectsContract
from anubis.testing.contracts.records import RecordsContract


class TestObjects(ObjectsContract):
    @pytest.fixture(params=["fake", "folder"])
    def objects(self, request, tmp_path):
        return FakeObjects() if request.param == "fake" else FolderObjects(tmp_path / "objects")


class TestRecords(RecordsContract):
    @pytest.fixture(params=["fake", "folder"])
    def records(self, request, tmp_path):
        return FakeRecords() if request.param == "fake" else FolderRecords(tmp_path / "records")
