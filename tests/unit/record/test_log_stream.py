import io
import json
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.record.files import FolderFiles
from anubis.record.index_writer import CHUNK, ENTRY_FORMAT, HEADER
from anubis.record.layout import STREAMS
from anubis.record.log_stream import LogStream, as_json, with_time

BOTH = ("stdout", "stderr")
#: (stream, bytes) in order of arrival; the clock goes on by a second each.
ARRIVALS = st.lists(st.tuples(st.sampled_from(BOTH), st.binary(min_size=1, max_size=20)), max_size=12)


class Growing:
    """A record that is being written."""

    def __init__(self, folder):
        self.folder = folder
        self.sizes = dict.fromkeys(STREAMS, 0)
        self.clock_s = 0

    def grow(self, stream, data, *, indexed=True):
        self.folder.mkdir(exist_ok=True)
        index = self.folder / "lines"
        if not index.exists():
            index.write_bytes(HEADER)
        with (self.folder / stream).open("ab") as file:
            file.write(data)
        self.sizes[stream] += len(data)
        self.clock_s += 1
        if indexed:
            entry = pack(
                ENTRY_FORMAT, self.sizes[stream], self.clock_s * 10**9, 0, STREAMS.index(stream), CHUNK
            )
            with index.open("ab") as file:
                file.write(entry)


def copied(stream, *, last=False):
    out = io.BytesIO()
    stream.copy(out, last=last)
    return out.getvalue()


@pytest.fixture
def record(tmp_path):
    return Growing(tmp_path / "record")


@given(arrivals=ARRIVALS, looks=st.sets(st.integers(0, 12)))
def test_bytes_come_in_the_order_of_their_arrival_however_often_one_looks(arrivals, looks, tmp_path_factory):
    record = Growing(tmp_path_factory.mktemp("spool") / "record")
    log = LogStream(FolderFiles(str(record.folder)), BOTH)
    found = b""
    for number, (stream, data) in enumerate(arrivals):
        record.grow(stream, data)
        if number in looks:
            found += copied(log)
    assert found + copied(log, last=True) == b"".join(data for _, data in arrivals)


@given(arrivals=ARRIVALS)
def test_one_stream_alone_is_its_file(arrivals, tmp_path_factory):
    record = Growing(tmp_path_factory.mktemp("spool") / "record")
    for stream, data in arrivals:
        record.grow(stream, data)
    found = copied(LogStream(FolderFiles(str(record.folder)), ("stderr",)), last=True)
    assert found == b"".join(data for stream, data in arrivals if stream == "stderr")


def test_a_record_that_is_not_there_yet_gives_nothing(record):
    log = LogStream(FolderFiles(str(record.folder)), BOTH)
    assert copied(log) == b""
    record.grow("stdout", b"first\n")
    assert copied(log) == b"first\n"


def test_what_no_entry_covers_comes_at_the_end(record):
    record.grow("stdout", b"seen ")
    record.grow("stdout", b"and lost", indexed=False)
    log = LogStream(FolderFiles(str(record.folder)), BOTH)
    assert copied(log) == b"seen "
    assert copied(log, last=True) == b"and lost"


def test_a_line_has_the_time_at_which_its_end_arrived(record):
    record.grow("stdout", b"one\ntw")
    record.grow("stderr", b"error\n")
    record.grow("stdout", b"o\nend")
    log = LogStream(FolderFiles(str(record.folder)), BOTH, line=with_time)
    assert copied(log).splitlines() == [
        b"1970-01-01T00:00:01.000000Z one",
        b"1970-01-01T00:00:02.000000Z error",
        b"1970-01-01T00:00:03.000000Z two",
    ]
    assert copied(log, last=True).endswith(b"Z end\n")


@given(arrivals=ARRIVALS, looks=st.sets(st.integers(0, 12)))
def test_objects_hold_every_line_once(arrivals, looks, tmp_path_factory):
    record = Growing(tmp_path_factory.mktemp("spool") / "record")
    log = LogStream(FolderFiles(str(record.folder)), BOTH, line=as_json)
    written = b""
    for number, (stream, data) in enumerate(arrivals):
        record.grow(stream, data)
        if number in looks:
            written += copied(log)
    objects = [json.loads(line) for line in (written + copied(log, last=True)).split(b"\n")[:-1]]
    for stream in BOTH:
        whole = b"".join(data for name, data in arrivals if name == stream)
        lines = [each["line"] for each in objects if each["stream"] == stream]
        assert lines == [
            line.decode("utf-8", "replace") for line in whole.removesuffix(b"\n").split(b"\n") if whole
        ]


def test_an_object_has_the_time_at_which_the_end_of_its_line_arrived(record):
    record.grow("stdout", b"tw")
    record.grow("stdout", b"o\n")
    log = LogStream(FolderFiles(str(record.folder)), BOTH, line=as_json)
    assert json.loads(copied(log)) == {"time_s": 2.0, "stream": "stdout", "line": "two"}


def test_a_reader_that_stops_does_not_join_lines(record):
    record.grow("stdout", b"one\ntwo\nthr")
    log = LogStream(FolderFiles(str(record.folder)), BOTH, line=with_time)
    assert next(log.lines(last=False))[2] == b"one"
    record.grow("stdout", b"ee\nfo")
    record.grow("stdout", b"u")
    record.grow("stdout", b"r\n\nfive")
    assert [line for _, _, line in log.lines(last=True)] == [b"three", b"four", b"", b"five"]
