from anubis.record.index_writer import ENTRY_BYTES, HEADER, STDERR, STDOUT
from anubis.record.time_index import TimeIndex, entries
from support.agents import HandmadeRecord

SECOND = 1_000_000_000


def test_each_byte_has_its_time(tmp_path):
    record = HandmadeRecord(tmp_path)
    began = record.now_ns
    record.write(b"one\ntw", repeat=-1)
    record.write(b"oops\n", stream=STDERR)
    record.write(b"o\nthree", repeat=0)
    index = TimeIndex(str(tmp_path))
    assert [index.time_ns(at) - began for at in (0, 5, 6, 12)] == [SECOND, SECOND, 3 * SECOND, 3 * SECOND]
    assert [index.repeat(at) for at in (0, 5, 6)] == [-1, -1, 0]
    assert (index.size, len(index)) == (13, 2)
    assert index.time_ns(13) is None
    assert index.repeat(13) is None
    assert TimeIndex(str(tmp_path), "stderr").time_ns(0) == began + 2 * SECOND


def test_lines_have_the_time_of_their_end(tmp_path):
    record = HandmadeRecord(tmp_path)
    began = record.now_ns
    record.write(b"one\ntw")
    record.write(b"o\nthree")
    lines = [
        (at, (time_ns - began) // SECOND, line) for at, time_ns, line in TimeIndex(str(tmp_path)).lines()
    ]
    assert lines == [(0, 1, b"one\n"), (4, 2, b"two\n"), (8, 2, b"three")]
    assert [line for _, _, line in TimeIndex(str(tmp_path)).lines(4)] == [b"two\n", b"three"]


def test_a_truncated_tail_is_left_out(tmp_path):
    record = HandmadeRecord(tmp_path)
    record.write(b"one\n")
    record.write(b"two\n")
    path = tmp_path / "lines"
    for cut in range(1, ENTRY_BYTES):
        path.write_bytes(path.read_bytes()[: len(HEADER) + 2 * ENTRY_BYTES - cut])
        assert [end for end, *_ in entries(str(tmp_path))] == [4]
        assert [time_ns is None for _, time_ns, _ in TimeIndex(str(tmp_path)).lines()] == [False, True]


def test_a_record_without_an_index(tmp_path):
    (tmp_path / "stdout").write_bytes(b"one\n")
    index = TimeIndex(str(tmp_path))
    assert list(index.lines()) == [(0, None, b"one\n")]
    assert (index.size, entries(str(tmp_path))) == (0, [])


def test_end_marks_and_other_streams_are_no_chunks(tmp_path):
    record = HandmadeRecord(tmp_path)
    record.tear(stream=STDOUT)
    record.end()
    assert len(TimeIndex(str(tmp_path))) == 0
