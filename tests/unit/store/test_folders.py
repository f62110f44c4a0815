import errno
import io
from urllib.parse import unquote, urlsplit

import pytest

from anubis.model.errors import BadInputError, FullError, ReadOnlyError, StoreError, disk_error
from anubis.store import FolderObjects


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


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, FullError),
        (errno.EROFS, ReadOnlyError),
        (errno.EACCES, ReadOnlyError),
        (errno.EIO, StoreError),
    ],
)
def test_an_error_says_whether_the_disk_is_full_or_read_only(number, kind):
    error = disk_error("object a", OSError(number, "why"))
    assert (type(error), error.message) == (kind, "object a: why")
    assert error.remedy
