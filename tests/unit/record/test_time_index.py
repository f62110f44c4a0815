from anubis.record.files import FolderFiles
from anubis.record.index_writer import ENTRY_BYTES, HEADER, STDERR, STDOUT
from anubis.record.time_index import Arrivals, entries, is_complete
from support.agents import HandmadeRecord

SECOND = 1_000_000_000


def arrivals(folder, *streams):
    return list(Arrivals(FolderFiles(str(folder)), streams or ("stdout",)).new())


def test_each_byte_has_its_time_and_its_execution(tmp_path):
    record = HandmadeRecord(tmp_path)
    began = record.now_ns
    record.write(b"one\ntw", repeat=-1)
    record.write(b"oops\n", stream=STDERR)
    record.write(b"o\nthree", repeat=0)
    assert arrivals(tmp_path) == [("stdout", 6, began + SECOND, -1), ("stdout", 13, began + 3 * SECOND, 0)]
    assert arrivals(tmp_path, "stderr") == [("stderr", 5, began + 2 * SECOND, 0)]
    assert [end for _, end, _, _ in arrivals(tmp_path, "stdout", "stderr")] == [6, 5, 13]


def test_each_call_gives_what_is_new(tmp_path):
    record = HandmadeRecord(tmp_path)
    reader = Arrivals(FolderFiles(str(tmp_path)))
    assert list(reader.new()) == []
    for end in (4, 8):
        record.write(b"one\n")
        assert [found[1] for found in reader.new()] == [end]


def test_more_entries_than_are_read_at_once(tmp_path):
    record = HandmadeRecord(tmp_path)
    for _ in range(5000):
        record.write(b"x")
    assert [end for _, end, _, _ in arrivals(tmp_path)] == list(range(1, 5001))


def test_a_truncated_tail_is_left_out(tmp_path):
    record = HandmadeRecord(tmp_path)
    record.write(b"one\n")
    record.write(b"two\n")
    path = tmp_path / "lines"
    for cut in range(1, ENTRY_BYTES):
        path.write_bytes(path.read_bytes()[: len(HEADER) + 2 * ENTRY_BYTES - cut])
        assert [end for end, *_ in entries(FolderFiles(str(tmp_path)))] == [4]


def test_a_record_without_an_index(tmp_path):
    (tmp_path / "stdout").write_bytes(b"one\n")
    assert arrivals(tmp_path) == []
    assert not is_complete(FolderFiles(str(tmp_path)))


def test_end_marks_and_damaged_entries_are_not_arrivals(tmp_path):
    record = HandmadeRecord(tmp_path)
    record.mark_gap(stream=STDOUT)
    record._index.note(9, 0, 5, 1, 0)
    assert not is_complete(FolderFiles(str(tmp_path)))
    record.end()
    assert arrivals(tmp_path, "stdout", "stderr", "emit") == []
    assert is_complete(FolderFiles(str(tmp_path)))
