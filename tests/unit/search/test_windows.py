"""Windows of the output of a replica, read from its end."""

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.record.files import FileState
from anubis.record.index_writer import CHUNK, ENTRY_FORMAT, HEADER
from anubis.record.layout import LINES, STDERR, STDOUT, STREAMS
from anubis.search.following import ReplicaFollower
from anubis.search.windows import window


class Memory:
    """The files of a record."""

    def __init__(self, chunks):
        """``chunks``: (stream, bytes) in the order of arrival."""
        self.files = {LINES: bytearray(HEADER), STDOUT: bytearray(), STDERR: bytearray()}
        for at, (stream, data) in enumerate(chunks):
            self.files[stream] += data
            end = len(self.files[stream])
            self.files[LINES] += pack(ENTRY_FORMAT, end, 1000 + at, 0, STREAMS.index(stream), CHUNK)

    def read(self, file, offset, length):
        return bytes(self.files[file][offset : offset + length])

    def state(self, file):
        return FileState(len(self.files[file]), 5.0)


LINE = st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"") + b"\n")
CHUNKS = st.lists(
    st.tuples(st.sampled_from([STDOUT, STDERR]), st.lists(LINE, min_size=1, max_size=5).map(b"".join)),
    max_size=20,
)


def every_window(files, most_bytes):
    found = [window(files, most_bytes=most_bytes, is_over=True)]
    while not found[-1].is_first:
        found.append(window(files, before=found[-1].start, most_bytes=most_bytes))
        assert len(found) < 1000, "each window begins before the one after it"
    return found[::-1]


@given(chunks=CHUNKS, most_bytes=st.integers(1, 60))
def test_windows_from_the_end_have_all_bytes(chunks, most_bytes):
    files = Memory(chunks)
    for stream in (STDOUT, STDERR):
        pieces = {}
        for one in every_window(files, most_bytes):
            pieces |= {line.offset: line.line for line in one.lines if line.stream == stream}
        whole = bytes(files.files[stream])
        for offset, line in pieces.items():
            assert whole[offset : offset + len(line)] == line
        covered = sum(len(line) for line in pieces.values())
        assert covered == len(whole) - whole.count(b"\n")


@given(chunks=CHUNKS)
def test_a_large_window_has_the_lines_in_order_of_arrival(chunks):
    found = window(Memory(chunks), is_over=True)
    assert found.is_first
    times = [line.time_ns for line in found.lines]
    assert times == sorted(times)
    for stream in (STDOUT, STDERR):
        text = b"".join(data for name, data in chunks if name == stream)
        assert [line.line for line in found.lines if line.stream == stream] == text.split(b"\n")[:-1]


@given(before=CHUNKS, after=CHUNKS, most_bytes=st.integers(1, 60), part=st.binary(max_size=5))
def test_a_follower_continues_at_the_end_of_a_window(before, after, most_bytes, part):
    part = part.replace(b"\n", b"")
    files = Memory([*before, (STDOUT, part)])
    place = window(files, most_bytes=most_bytes).end
    grown = Memory([*before, (STDOUT, part), (STDOUT, b"!\n"), *after])
    follower = ReplicaFollower(grown, (STDOUT, STDERR), place)
    lines = follower.lines(1 << 20, last=True)
    shown = part[-most_bytes:]  # of a line in progress that is longer than a window, the end
    expected = (shown + b"!\n" + b"".join(data for name, data in after if name == STDOUT)).split(b"\n")[:-1]
    assert [line for _, stream, line in lines if stream == STDOUT] == expected
    errors = b"".join(data for name, data in after if name == STDERR).split(b"\n")[:-1]
    assert [line for _, stream, line in lines if stream == STDERR] == errors


def test_the_output_of_an_agent_that_was_killed_has_no_entries():
    files = Memory([])
    files.files[STDOUT] += b"one\ntwo"
    assert [line.line for line in window(files, is_over=True).lines] == [b"one", b"two"]
    assert window(files).lines == ()


@pytest.mark.parametrize("size", [100, 5000])
def test_a_line_longer_than_a_window_is_shown_in_parts(size):
    files = Memory([(STDOUT, b"x" * size + b"\nend\n")])
    found = every_window(files, 50)
    text = b"".join(line.line for one in found for line in one.lines)
    assert text == b"x" * size + b"end"
