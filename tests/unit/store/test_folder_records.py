import os
import tarfile
import threading
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import zstandard

from anubis.contracts.records import RecordKey
from anubis.model.errors import FullError, StoreError
from anubis.model.ids import new_run_id
from anubis.record import appending
from anubis.record.files import FolderFiles
from anubis.record.validation import DamagedError
from anubis.store import FolderRecords


@pytest.fixture
def key():
    return RecordKey(new_run_id(), 2, "server", 3)


@pytest.fixture
def records(tmp_path):
    return FolderRecords(tmp_path)


def folder_of(tmp_path, key):
    return tmp_path / key.run_id / f"a{key.attempt}" / key.role / str(key.rank)


def test_a_record_is_where_it_is_documented(tmp_path, records, key):
    records.append(key, "stdout", 0, b"x")
    records.replace(key, "exit.json", b"{}")
    folder = folder_of(tmp_path, key)
    assert sorted(path.name for path in folder.iterdir()) == ["exit.json", "stdout"]
    assert Path(unquote(urlsplit(records.url(key)).path)) == folder


def test_nothing_is_written_through_a_link_in_a_record(tmp_path, records, key):
    outside = tmp_path / "outside"
    outside.mkdir()
    records.append(key, "work/result", 0, b"x")
    (folder_of(tmp_path, key) / "work" / "link").symlink_to(outside)
    with pytest.raises(ValueError, match="conflict"):
        records.append(key, "work/link/result", 0, b"x")
    assert list(outside.iterdir()) == []


def test_folders_that_are_not_attempts_are_left_out(tmp_path, records, key):
    for name in ("a1", "a02", "ab", "notes"):
        (tmp_path / key.run_id / name).mkdir(parents=True)
    (tmp_path / key.run_id / "a3.tar.zst").touch()
    assert records.attempts(key.run_id) == [1, 3]


def test_links_pipes_and_unfinished_files_are_not_part_of_a_record(tmp_path, records, key):
    records.append(key, "stdout", 0, b"x")
    folder = folder_of(tmp_path, key)
    (folder / "exit.json.part").write_bytes(b" ")
    (folder / "facts.json").symlink_to("/etc/passwd")
    os.mkfifo(folder / "fifo")
    assert [each.file for each in records.list(key.run_id, key.attempt)] == ["stdout"]
    assert records.read(key, "facts.json", 0, 100) == b""
    assert records.state(key, "facts.json") is None
    assert records.read(key, "fifo", 0, 100) == b""
    with pytest.raises((StoreError, ValueError)):
        records.append(key, "fifo", 0, b"x")


def test_a_file_cannot_be_a_folder_too(records, key):
    records.append(key, "work", 0, b"x")
    for file in ("work/model.bin", "work/a/b"):
        with pytest.raises(ValueError, match="conflict"):
            records.append(key, file, 0, b"x")
    records.append(key, "other/model.bin", 0, b"x")
    with pytest.raises(ValueError, match="conflict"):
        records.append(key, "other", 0, b"x")


def test_a_full_disk_keeps_a_prefix_and_the_sender_may_repeat(records, key, monkeypatch):
    real = os.pwrite
    answers = [lambda *given: real(given[0], given[1][:3], given[2]), lambda *_: os.write(full, b"x")]
    full = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(
        appending.os, "pwrite", lambda *given: answers.pop(0)(*given) if answers else real(*given)
    )
    with pytest.raises(FullError, match="free disk space"):
        records.append(key, "stdout", 0, b"0123456789")
    assert records.state(key, "stdout").size_bytes == 3
    assert records.append(key, "stdout", 0, b"0123456789") == 10
    assert records.read(key, "stdout", 0, 20) == b"0123456789"
    os.close(full)


def test_a_replacement_that_fails_leaves_the_old_content(tmp_path, records, key, monkeypatch):
    records.replace(key, "exit.json", b"{}")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FullError):
        records.replace(key, "exit.json", b'{"code": 1}')
    assert records.read(key, "exit.json", 0, 100) == b"{}"
    assert [path.name for path in folder_of(tmp_path, key).iterdir()] == ["exit.json"]


def test_appenders_of_one_file_wait_for_one_another(records, key):
    data = os.urandom(1 << 20)

    def send():
        for at in range(0, len(data), 1 << 16):
            records.append(key, "stdout", at, data[at : at + (1 << 16)])

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert records.read(key, "stdout", 0, 1 << 21) == data


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../../x", tarfile.REGTYPE),
        ("/tmp/x", tarfile.REGTYPE),
        ("link", tarfile.SYMTYPE),
        ("pipe", tarfile.FIFOTYPE),
    ],
)
def test_a_packed_record_that_was_tampered_with_is_refused(tmp_path, records, key, name, kind):
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo(name)
        info.type = kind
        tar.addfile(info)
    (tmp_path / key.run_id).mkdir()
    (tmp_path / key.run_id / "a2.tar.zst").write_bytes(zstandard.compress(out.getvalue()))
    with pytest.raises(tarfile.TarError):
        records.list(key.run_id, 2)
    assert [path.name for path in (tmp_path / key.run_id).iterdir()] == ["a2.tar.zst"]
    assert not (tmp_path / "x").exists()


def test_a_file_that_a_benchmark_made_unreadable_is_damage_and_a_folder_of_all_records_is_not(
    tmp_path, monkeypatch
):
    records, key = FolderRecords(tmp_path / "records"), RecordKey(new_run_id(), 1)
    records.append(key, "stdout", 0, b"line")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(FolderFiles, "read", refuse)
    monkeypatch.setattr(FolderFiles, "state", refuse)
    for is_accessible, error in [(True, DamagedError), (False, StoreError)]:
        monkeypatch.setattr(os, "access", lambda *_, answer=is_accessible: answer)
        with pytest.raises(error, match="Permission denied"):
            records.read(key, "stdout", 0, 4)
        with pytest.raises(error, match="Permission denied"):
            records.state(key, "stdout")
