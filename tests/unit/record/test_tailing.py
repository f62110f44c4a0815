from anubis.record import tailing
from anubis.record.files import FolderFiles


def test_the_last_lines_are_those_that_are_not_blank(tmp_path):
    files = FolderFiles(str(tmp_path))
    assert tailing.last_line(files, "stdout") == ""
    (tmp_path / "stdout").write_bytes(b"one\n\n  \ntwo\rthree \x1b[2J\xff\n\n")
    assert tailing.last_lines(files, "stdout", 2) == ["two", "three  [2J�"]
    assert tailing.last_line(files, "stdout") == "three  [2J�"


def test_only_the_end_of_a_large_file_is_read(tmp_path):
    (tmp_path / "stdout").write_bytes(b"x" * 1_000_000 + b"\nlast")
    files = FolderFiles(str(tmp_path))
    asked = []
    read = files.read
    files.read = lambda file, offset, length: asked.append(length) or read(file, offset, length)
    assert tailing.last_line(files, "stdout") == "last"
    assert sum(asked) < 10_000


def test_the_last_execution_is_the_last_event_that_names_one(tmp_path):
    files = FolderFiles(str(tmp_path))
    assert tailing.last_repeat(files) is None
    lines = [b'{"event": "x"}', b'{"repeat": -1}', b"{damaged", b"[1]", b'{"repeat": 0}', b'{"repeat": 1']
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(lines))
    assert tailing.last_repeat(files) == 0


def test_an_event_that_is_nested_too_deeply_is_left_out(tmp_path):
    (tmp_path / "events.jsonl").write_bytes(b"[" * 100_000 + b'\n{"repeat": 3}\n')
    assert tailing.last_repeat(FolderFiles(str(tmp_path))) == 3
