import io
from urllib.parse import unquote, urlsplit

import pytest

from anubis.model.errors import BadInputError, StoreError
from anubis.model.ids import new_run_id
from anubis.store import FolderObjects, FolderRecords


@pytest.mark.parametrize(
    "key", ["", "..", "../up", "a/../b", "/etc/passwd", "a//b", "a/.", "a\0b", "a b", "a/"]
)
def test_a_key_cannot_leave_the_folder(tmp_path, key):
    objects = FolderObjects(tmp_path / "objects")
    for call in (objects.open, objects.url, lambda key: objects.put(key, io.BytesIO(b"x"))):
        with pytest.raises(BadInputError):
            call(key)
    assert not (tmp_path / "objects").exists()


def test_an_address_is_that_of_the_file(tmp_path):
    objects = FolderObjects(tmp_path / "a folder")
    objects.put("sha256/abc.tar", io.BytesIO(b"bytes"))
    assert unquote(urlsplit(objects.url("sha256/abc.tar")).path) == str(tmp_path / "a folder/sha256/abc.tar")


def test_nothing_but_the_object_stays_in_the_folder(tmp_path):
    objects = FolderObjects(tmp_path)
    objects.put("key", io.BytesIO(b"bytes"))
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_disk_that_refuses_is_named(tmp_path):
    (tmp_path / "taken").write_text("a file where a folder should be")
    with pytest.raises(StoreError, match="taken/key") as caught:
        FolderObjects(tmp_path).put("taken/key", io.BytesIO(b"bytes"))
    assert caught.value.remedy


@pytest.mark.parametrize("run_id", ["", "..", "../..", "a", "01234567-89ab-7000-8000-00000000000/"])
def test_only_run_ids_have_records(tmp_path, run_id):
    records = FolderRecords(tmp_path)
    for call in (records.attempts, records.remove, lambda run_id: records.folder(run_id, 1)):
        with pytest.raises(ValueError, match="not a run id"):
            call(run_id)


@pytest.mark.parametrize(
    ("attempt", "role", "rank"), [(0, "benchmark", 0), (1, "../x", 0), (1, "", 0), (1, "a", -1)]
)
def test_only_real_parts_have_folders(tmp_path, attempt, role, rank):
    with pytest.raises(ValueError, match="no record has"):
        FolderRecords(tmp_path).folder(new_run_id(), attempt, role, rank)


def test_a_record_lies_where_it_is_documented(tmp_path):
    run_id = new_run_id()
    assert FolderRecords(tmp_path).folder(run_id, 2, "server", 3) == tmp_path / run_id / "a2" / "server" / "3"


def test_files_beside_the_attempts_are_passed_over(tmp_path):
    run_id = new_run_id()
    for name in ("a1", "a02", "ab", "notes"):
        (tmp_path / run_id / name).mkdir(parents=True)
    assert FolderRecords(tmp_path).attempts(run_id) == [1]
