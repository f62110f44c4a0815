import re
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.agent.extract import extraction
from anubis.agent.extract.extraction import Extraction
from anubis.agent.extract.pattern_scan import LONGEST_LINE, Lines
from anubis.agent.options import PRIORITY_TOO_LOW, Options
from anubis.record import liveness, samples
from anubis.record.files import FolderFiles
from anubis.record.index_writer import CHUNK, EMIT, ENTRY_FORMAT, GAP, STDERR, STDOUT
from anubis.record.time_index import is_complete
from anubis.record.validation import DamagedError
from support.agents import HandmadeRecord

SECOND = 1_000_000_000
PATTERNS = {
    "bulk": r"a=(\d)",
    "line": r"b:\s*(\d)",
    "free": r"(\d)c",
    "anchored": r"^(\d)",
    "end": r"(\d)$",
    "stepped": r"(?P<step>\d)s(?P<value>\d)",
    "twice": r"(\d)-(\d)",
}
CHUNKS = st.lists(st.text(alphabet="a=b: 1c2s-3é\n\n\r", max_size=40), max_size=8)


def expected(text, pattern):
    regex = re.compile(pattern)
    group = regex.groupindex.get("value", 1)
    return [float(m[group]) for line in re.split("[\r\n]", text) for m in regex.finditer(line)]


@given(chunks=CHUNKS)
def test_however_it_arrives_each_line_is_searched_once(tmp_path_factory, chunks):
    record = HandmadeRecord(tmp_path_factory.mktemp("record"))
    for chunk in chunks:
        record.write(chunk.encode())
    record.end()
    found, report = record.extract(PATTERNS)
    for name, pattern in PATTERNS.items():
        values = list(found[name].values) if name in found else []
        assert values == expected("".join(chunks), pattern), name
        assert report["metrics"][name]["count"] == len(values)


def test_dense_and_sparse_lines_are_found_alike(tmp_path):
    record = HandmadeRecord(tmp_path / "dense")
    record.write(b"loss=1\n" * 1000 + b"x" * LONGEST_LINE + b"loss=5\nloss=2\n")
    record.end()
    found, _ = record.extract({"loss": r"loss=(\d)"})
    assert list(found["loss"].values) == [1.0] * 1000 + [2.0]
    record = HandmadeRecord(tmp_path / "sparse")
    record.write(b"nothing to see here, and that for a while\n" * 3000 + b"loss=3\n")
    record.end()
    found, _ = record.extract({"loss": r"loss=(\d)"})
    assert list(found["loss"].values) == [3.0]


def test_samples_have_the_time_at_which_their_line_was_complete(tmp_path):
    record = HandmadeRecord(tmp_path)
    began = record.now_ns
    record.write(b"loss=1\nlos")
    record.write(b"s=2\nloss=3\nloss=")
    record.write(b"4", stream=STDERR)
    record.write(b"4\n")
    record.end()
    for pattern in (r"loss=(\d)", r"loss=\s*(\d)"):
        found, _ = record.extract({"loss": pattern}, fresh=True)
        seconds = [round(time_s - began / SECOND) for time_s in found["loss"].times_s]
        assert list(zip(found["loss"].values, seconds, strict=True)) == [(1, 1), (2, 2), (3, 2), (4, 4)]


def test_the_end_of_an_execution_ends_its_last_line(tmp_path):
    record = HandmadeRecord(tmp_path)
    record.write(b"loss=1", repeat=-1)
    record.write(b"2\nloss=3", repeat=0)
    record.end()
    found, _ = record.extract({"loss": r"loss=(\d+)"})
    assert list(found["loss"].values) == [1, 3]
    assert list(found["loss"].repeats) == [-1, 0]


def test_what_stands_on_both_sides_of_lost_bytes_is_no_line(tmp_path):
    record = HandmadeRecord(tmp_path)
    record.write(b"loss=1\nloss=2")
    record.mark_gap()
    record.write(b"3\nloss=4\n")
    record.end()
    found, _ = record.extract({"loss": r"loss=(\d+)"})
    assert list(found["loss"].values) == [1, 4]


def test_the_rest_of_a_line_whose_start_is_lost_does_not_count_at_the_end_either(tmp_path):
    record = HandmadeRecord(tmp_path)
    record.write(b"loss=1\nlos")
    record.mark_gap()
    record.write(b"s=2 loss=3")
    record.end()
    found, _ = record.extract({"loss": r"loss=(\d+)"})
    assert list(found["loss"].values) == [1]


@pytest.mark.parametrize(
    ("can_raise", "code", "values"), [(True, 0, [1.0, 2.0]), (False, PRIORITY_TOO_LOW, None)]
)
def test_at_the_end_of_the_benchmark_the_priority_is_raised_or_a_new_extractor_asked_for(
    tmp_path, monkeypatch, can_raise, code, values
):
    record = HandmadeRecord(tmp_path)
    record.write(b"loss=1\n")
    (tmp_path / "patterns.json").write_text('{"loss": {"pattern": "loss=(.)", "units": "1"}}')

    def set_priority(policy):
        """The benchmark ends as soon as the extractor has lowered its priority."""
        if policy == "SCHED_IDLE":
            record.write(b"loss=2\n")
            record.end()
        return policy == "SCHED_IDLE" or can_raise

    monkeypatch.setattr(extraction, "_set_priority", set_priority)
    monkeypatch.setattr(extraction, "wake_at_sigterm", lambda: None)
    monkeypatch.setattr(extraction.RegexTimeout, "start", lambda _self: None)  # ends with the process
    monkeypatch.setattr(liveness, "state", lambda _record: liveness.ALIVE)
    options = Options(["--record", str(tmp_path), "--patterns", str(tmp_path / "patterns.json")])
    assert extraction.run(options) == code
    if values:
        assert list(samples.load(FolderFiles(str(tmp_path)))["loss"].values) == values


@pytest.mark.parametrize("parts", [1, 3, 50])
@pytest.mark.parametrize("at_once", [True, False], ids=["read at once", "read as it arrives"])
def test_only_the_beginning_of_an_endless_line_counts(tmp_path, parts, at_once):
    record = HandmadeRecord(tmp_path)
    reader = Extraction(str(tmp_path), {"loss": {"pattern": r"loss=(\d)", "units": "1"}})
    line = b"loss=1 " + b"x" * 100_000 + b" loss=2"
    size = len(line) // parts + 1
    for at in range(0, len(line), size):
        record.write(line[at : at + size])
        while not at_once and reader.advance():
            pass
    record.write(b"\nloss=3\n")
    record.end()
    while reader.advance():
        pass
    reader.finish()
    assert list(samples.load(FolderFiles(str(tmp_path)))["loss"].values) == [1, 3]


@pytest.mark.parametrize("is_lost", [True, False], ids=["lost bytes", "endless line"])
def test_an_unfinished_line_of_one_execution_costs_the_next_nothing(tmp_path, is_lost):
    record = HandmadeRecord(tmp_path)
    record.write(b"loss=1\n" + b"x" * (1 if is_lost else 100_000), repeat=0)
    if is_lost:
        record.mark_gap(repeat=0)
    record.write(b"loss=2\n", repeat=1)
    record.end()
    found, _ = record.extract({"loss": r"loss=(\d)"})
    assert list(found["loss"].values) == [1, 2]


def test_an_interrupted_extraction_goes_on_where_it_stopped(tmp_path):
    record = HandmadeRecord(tmp_path)
    patterns = {"loss": r"loss=(\S+)"}
    record.write(b"loss=1\nloss=nan\nloss=2\nloss=")
    record.write(b'{"accuracy": 0.5}\n{"accu', stream=EMIT)
    record.extract(patterns)
    with (tmp_path / "samples").open("ab") as file:
        file.write(b"\2\0\0\0\xff\0\0\0half a block")
    record.write(b"3\n")
    record.write(b'racy": 0.75}\n', stream=EMIT)
    record.end()
    found, report = record.extract(patterns)
    again, report_again = record.extract(patterns, fresh=True)
    assert list(again["loss"].values) == [1, 2, 3]
    assert list(again["accuracy"].values) == [0.5, 0.75]
    # An extraction that ends without the end mark takes what it has for the last line.
    assert list(found["loss"].values) == [1, 2]
    assert (
        report["metrics"]["loss"]["rejected"]
        == report_again["metrics"]["loss"]["rejected"]
        == {"not finite": 1}
    )


def test_going_on_loses_and_repeats_nothing(tmp_path):
    record = HandmadeRecord(tmp_path)
    declared = {"loss": {"pattern": r"loss=(\d+)", "units": "1"}}
    for number in range(20):
        Extraction(str(tmp_path), declared).advance()
        record.write(f"loss={number}\nloss=1".encode())
        Extraction(str(tmp_path), declared).advance()
        record.write(f"{number}\n".encode())
    record.end()
    found, report = record.extract({"loss": r"loss=(\d+)"})
    assert list(found["loss"].values) == [x for n in range(20) for x in (n, int(f"1{n}"))]
    assert report["metrics"]["loss"]["count"] == 40
    assert report["complete"]


def test_metrics_that_share_a_line_are_all_found(tmp_path):
    record = HandmadeRecord(tmp_path)
    record.write(b"step 5 loss=1 loss=2 acc=3e-2\n")
    record.end()
    patterns = {
        "loss": r"loss=(\d)",
        "acc": r"acc=([-+0-9.eE]+)",
        "stepped": r"step (?P<step>\d+) loss=(?P<value>\d)",
    }
    found, _ = record.extract(patterns)
    assert list(found["loss"].values) == [1, 2]
    assert list(found["acc"].values) == [0.03]
    assert list(found["stepped"].steps) == [5]


def test_units_and_labels_are_kept(tmp_path):
    record = HandmadeRecord(tmp_path)
    record.write(
        b'{"anubis":1,"m":{"loss":1},"u":{"loss":"nats"},"l":{"rank":0},"s":4,"t":1500000000}\n', stream=EMIT
    )
    record.end()
    record.extract()
    (sample,) = samples.iterate(FolderFiles(str(tmp_path)))
    assert sample == ("loss", 1.0, "nats", 1.5, 4, 0, "measure", {"rank": "0"})


def test_a_pattern_that_is_none_costs_only_itself(tmp_path):
    record = HandmadeRecord(tmp_path)
    record.write(b"loss=1\n")
    record.end()
    found, report = record.extract({"broken": "(", "loss": r"loss=(\d)"})
    assert list(found["loss"].values) == [1]
    assert "unterminated" in report["metrics"]["broken"]["error"]


def test_a_record_knows_when_it_is_complete(tmp_path):
    record = HandmadeRecord(tmp_path)
    assert not is_complete(FolderFiles(str(tmp_path / "none")))
    assert not is_complete(FolderFiles(str(tmp_path)))
    for _ in range(3):
        record.write(b"x\n")
        assert not is_complete(FolderFiles(str(tmp_path)))
    record.end()
    assert is_complete(FolderFiles(str(tmp_path)))


@given(st.lists(st.sampled_from(["loss=1", "ss=2", "=3", "los", "\n", "x" * 30, "loss==4"]), max_size=30))
def test_a_rare_byte_finds_what_the_literal_finds(parts):
    body = b"also close losses, but no figure\n" * 400 + "".join(parts).encode()
    lines = Lines(body, [len(body)], [1.0], 0)
    assert lines._rare_byte(b"loss=") == 4
    found = [line for line, _ in lines.holding(b"loss=")]
    assert found == [line for line in body.split(b"\n") if b"loss=" in line]


@pytest.mark.parametrize("entry", [(STDOUT, 7, 4), (9, CHUNK, 4), (9, GAP, 4), (STDOUT, CHUNK, -1)])
def test_an_index_that_no_agent_writes_is_called_damaged(tmp_path, entry):
    stream, kind, end = entry
    record = HandmadeRecord(tmp_path)
    record.write(b"m=1\n")
    with (tmp_path / "lines").open("ab") as file:
        file.write(struct.pack(ENTRY_FORMAT, end, 0, 0, stream, kind))
    with pytest.raises(DamagedError, match="lines is damaged after byte"):
        record.extract({"m": r"m=(\d)"})
