"""Files of a launch on this machine: written once, extracted once, and a full disk is named."""

import errno
import io
from concurrent.futures import ThreadPoolExecutor

import pytest

from anubis.model.cause import Cause
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.launch import LaunchFile, Mount, Replica, Role
from anubis.pipeline.host import files
from anubis.pipeline.host.files import extracted, not_startable, prepare
from anubis.submission.script_archive import archive
from anubis.testing import FakeObjects


@pytest.fixture
def script(tmp_path):
    """An object store with a script archive, and its key."""
    (tmp_path / "train.py").write_text("print(1)")
    key, content = archive(tmp_path / "train.py")
    objects = FakeObjects()
    objects.put(key, io.BytesIO(content))
    return objects, key


def a_replica(tmp_path, **changes):
    record = str(tmp_path / "record")
    values = {
        "record": record,
        "folders": (f"{record}/work",),
        "files": {f"{record}/secret": LaunchFile(content=b"x", mode=0o600)},
    }
    role = Role(name="benchmark", command=("true",))
    return Replica(role=role, rank=0, argv=(), environment={}, address="", **(values | changes))


def test_record_folders_and_files_are_there_and_repeating_it_changes_nothing(tmp_path):
    replica = a_replica(tmp_path)
    record = prepare(replica)
    assert (record / "work").is_dir()
    assert (record / "secret").stat().st_mode & 0o777 == 0o600
    (record / "secret").write_bytes(b"kept")
    assert prepare(replica) == record
    assert (record / "secret").read_bytes() == b"kept"
    assert sorted(path.name for path in record.iterdir()) == ["secret", "work"]


def test_paths_of_a_container_are_mapped_to_this_machine(tmp_path):
    mount = Mount(target="/anubis/record", source=str(tmp_path / "outside"), read_only=False)
    files = {"/anubis/record/options.json": LaunchFile(content=b"{}")}
    prepare(a_replica(tmp_path, record="/anubis/record", folders=(), files=files, mounts=(mount,)))
    assert (tmp_path / "outside" / "options.json").read_bytes() == b"{}"


def test_several_at_once_extract_one_complete_folder(script, tmp_path):
    objects, key = script
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: extracted(key, str(tmp_path / "scripts"), objects), range(8)))
    assert len(found) == 1
    assert [path.name for path in (tmp_path / "scripts").iterdir()] == [key.removesuffix(".tar")]


@pytest.mark.parametrize(("content", "expected"), [(None, NotFoundError), (b"no archive", BadInputError)])
def test_nothing_is_left_of_an_archive_that_cannot_be_extracted(tmp_path, content, expected):
    objects = FakeObjects()
    if content:
        objects.put("a.tar", io.BytesIO(content))
    with pytest.raises(expected):
        extracted("a.tar", str(tmp_path / "scripts"), objects)
    assert list((tmp_path / "scripts").iterdir()) == []


def test_a_disk_that_fills_while_extracting_is_named_and_leaves_nothing(script, tmp_path, monkeypatch):
    objects, key = script

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "extract", full)
    with pytest.raises(files.StageError) as refused:
        extracted(key, str(tmp_path / "scripts"), objects)
    assert refused.value.cause is Cause.DISK_FULL
    assert list((tmp_path / "scripts").iterdir()) == []


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.ENOSPC, Cause.DISK_FULL),
        (errno.EDQUOT, Cause.DISK_FULL),
        (errno.E2BIG, Cause.USER_ERROR),
        (errno.EAGAIN, Cause.INTERNAL),
    ],
)
def test_why_the_system_refused_has_a_cause_and_a_remedy(number, cause, tmp_path):
    error = not_startable(OSError(number, "x"), tmp_path)
    assert error.cause is cause
    assert error.remedy
