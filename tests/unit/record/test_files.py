import os
import stat

import pytest

from anubis.record.files import FolderFiles, read_json, read_whole, reader, replace, sync


@pytest.fixture
def files(tmp_path):
    return FolderFiles(str(tmp_path))


def test_a_missing_file_is_empty(files):
    assert files.read("stdout", 0, 10) == b""
    assert files.read("no/folder", 0, 10) == b""
    assert files.state("stdout") is None
    assert reader(files, "stdout").read() == b""
    assert read_json(files, "exit.json") == {}


def test_a_part_of_a_file_is_read(tmp_path, files):
    (tmp_path / "stdout").write_bytes(b"0123456789")
    assert files.read("stdout", 3, 4) == b"3456"
    assert files.read("stdout", 8, 4) == b"89"
    assert files.read("stdout", 99, 4) == b""
    assert files.state("stdout").size_bytes == 10


def test_links_pipes_and_folders_are_not_read(tmp_path, files):
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "stdout").symlink_to(tmp_path / "secret")
    (tmp_path / "samples").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for file in ("stdout", "samples", "fifo"):
        assert files.read(file, 0, 10) == b""
        assert files.state(file) is None


def test_no_link_to_a_folder_leads_out_of_the_record(tmp_path):
    (tmp_path / "outside" / "inner").mkdir(parents=True)
    (tmp_path / "outside" / "inner" / "secret").write_text("secret")
    (tmp_path / "record" / "work").mkdir(parents=True)
    (tmp_path / "record" / "work" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "record" / "work" / "result").write_text("result")
    (tmp_path / "to-record").symlink_to(tmp_path / "record")
    files = FolderFiles(str(tmp_path / "to-record"))
    assert files.read("work/result", 0, 10) == b"result"
    assert files.state("work/result").size_bytes == 6
    for file in ("work/link/inner/secret", "work/link", "work/result/x"):
        assert files.read(file, 0, 10) == b""
        assert files.state(file) is None


def test_a_file_that_may_not_be_read_is_not_taken_for_an_empty_one(files, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError):
        files.read("stdout", 0, 1)


def test_a_stream_reads_to_the_end_in_bounded_parts(tmp_path, files):
    content = os.urandom(3_000_000)
    (tmp_path / "stdout").write_bytes(content)
    asked = []
    read = files.read
    files.read = lambda file, offset, length: asked.append(length) or read(file, offset, length)
    assert reader(files, "stdout", 1000).read() == content[1000:]
    assert read_whole(files, "stdout") == content
    stream = reader(files, "stdout")
    assert (stream.read(10), stream.readline()) == (content[:10], content[10:].partition(b"\n")[0] + b"\n")


def test_damaged_json_is_empty(tmp_path, files):
    for content in (b"", b"{", b"[1]", b"\xff", b"[" * 100_000):
        (tmp_path / "exit.json").write_bytes(content)
        assert read_json(files, "exit.json") == {}
    (tmp_path / "exit.json").write_bytes(b'{"code": 0}')
    assert read_json(files, "exit.json") == {"code": 0}


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch, durable):
    for content in (b"old and long", b"new"):
        replace(str(tmp_path), "exit.json", content, durable=durable)
        assert (tmp_path / "exit.json").read_bytes() == content

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", refuse)
    with pytest.raises(OSError, match="No space"):
        replace(str(tmp_path), "exit.json", b"more", durable=durable)
    assert [path.name for path in tmp_path.iterdir()] == ["exit.json"]
    assert (tmp_path / "exit.json").read_bytes() == b"new"


def test_only_files_and_folders_are_synced(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    (tmp_path / "stdout").touch()
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "stdout", tmp_path / "fifo"):
        sync(str(path))
    assert len(synced) == 2


@pytest.mark.parametrize(("durable", "order"), [(True, ["file", "rename", "folder"]), (False, ["rename"])])
def test_a_durable_file_is_on_the_disk_before_and_after_it_gets_its_name(
    tmp_path, monkeypatch, durable, order
):
    done, rename = [], os.replace

    def note_sync(opened):
        done.append("folder" if stat.S_ISDIR(os.fstat(opened).st_mode) else "file")

    def note_rename(old, new):
        done.append("rename")
        rename(old, new)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_rename)
    replace(str(tmp_path), "exit.json", b"{}", durable=durable)
    assert done == order
