from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.record import samples
from anubis.record.files import FolderFiles
from anubis.record.samples import NO_STEP, Columns, block, frame
from anubis.record.validation import DamagedError

ROWS = st.lists(
    st.tuples(
        st.floats(allow_nan=False),
        st.floats(0, 2e9),
        st.integers(-(2**63), 2**63 - 1),
        st.integers(-100, 100),
    )
)


def series(number, metric, units="1", labels=None):
    facts = f'{{"id": {number}, "metric": "{metric}", "units": "{units}", "labels": {labels or "{}"}}}'
    return frame(samples.SERIES, facts.encode())


def columns_of(rows):
    columns = Columns("m", "1")
    for row in rows:
        columns.append(*row)
    return columns


@given(ROWS)
def test_columns_survive_as_bytes(rows):
    columns, back = columns_of(rows), Columns("m", "1")
    back.extend_from(memoryview(columns.to_bytes()), len(columns))
    for name in ("values", "times_s", "steps", "repeats"):
        assert getattr(back, name) == getattr(columns, name)


def test_blocks_of_a_metric_are_one_column(tmp_path):
    content = samples.HEADER + series(0, "loss") + block(0, columns_of([(0.5, 1.0, 7, -1)]))
    content += series(1, "accuracy", "ratio") + block(1, columns_of([(0.9, 1.5, NO_STEP, 0)]))
    content += frame(samples.STATE, b"{}") + block(0, columns_of([(0.4, 2.0, 8, 0)]))
    (tmp_path / "samples").write_bytes(content)
    found = samples.load(FolderFiles(str(tmp_path)))
    assert found["loss"].values == array("d", [0.5, 0.4])
    assert found["loss"].steps == array("q", [7, 8])
    assert found["accuracy"].units == "ratio"


def test_one_by_one_they_have_labels_and_phase(tmp_path):
    rows = [(0.5, 1.0, 7, -1), (0.4, 2.0, NO_STEP, 0)]
    content = samples.HEADER + series(0, "loss", labels='{"rank": "1"}') + block(0, columns_of(rows))
    (tmp_path / "samples").write_bytes(content)
    first, second = samples.iterate(FolderFiles(str(tmp_path)))
    assert first == ("loss", 0.5, "1", 1.0, 7, -1, "warmup", {"rank": "1"})
    assert (second.step, second.phase) == (None, "measure")


def test_a_truncated_tail_is_left_out(tmp_path):
    whole = samples.HEADER + series(0, "loss") + block(0, columns_of([(0.5, 1.0, 7, 0)]))
    tail = block(0, columns_of([(0.4, 1.0, 8, 0)]))
    for kept in range(len(tail)):
        (tmp_path / "samples").write_bytes(whole + tail[:kept])
        assert samples.load(FolderFiles(str(tmp_path)))["loss"].values == array("d", [0.5])


def test_reading_on_while_it_grows(tmp_path):
    path = tmp_path / "samples"
    reader = samples.SampleFile(FolderFiles(str(tmp_path)))
    assert reader.read_new() == {}
    path.write_bytes(samples.HEADER + series(0, "loss") + block(0, columns_of([(0.5, 1.0, 7, 0)])))
    assert reader.read_new()["loss"].values == array("d", [0.5])
    assert reader.read_new() == {}
    more = block(0, columns_of([(0.4, 2.0, 8, 0)]))
    with path.open("ab") as file:
        file.write(more[:20])
        file.flush()
        assert reader.read_new() == {}
        file.write(more[20:])
    assert reader.read_new()["loss"].values == array("d", [0.4])


def test_a_record_without_samples(tmp_path):
    assert samples.load(FolderFiles(str(tmp_path))) == {}
    (tmp_path / "samples").write_bytes(b"")
    assert samples.load(FolderFiles(str(tmp_path))) == {}


def test_a_damaged_length_is_a_truncated_tail(tmp_path):
    whole = samples.HEADER + series(0, "loss") + block(0, columns_of([(0.5, 1.0, 7, 0)]))
    (tmp_path / "samples").write_bytes(whole + b"\x02\0\0\0\xff\xff\xff\xff" + b"x" * 100)
    found = samples.load(FolderFiles(str(tmp_path)))
    assert found["loss"].values == array("d", [0.5])


def test_a_large_block_is_read_whole(tmp_path):
    rows = [(float(n), 1.0, n, 0) for n in range(50_000)]
    (tmp_path / "samples").write_bytes(samples.HEADER + series(0, "loss") + block(0, columns_of(rows)))
    assert list(samples.load(FolderFiles(str(tmp_path)))["loss"].steps) == list(range(50_000))


def test_the_settled_end_is_that_of_the_last_state(tmp_path):
    files = FolderFiles(str(tmp_path))
    assert samples.settled_end(files, 0) == 0
    state = frame(samples.STATE, b"{}")
    content = samples.HEADER + series(0, "loss") + state
    for tail in (b"", state[:-1], series(1, "rate"), state[:3]):
        (tmp_path / "samples").write_bytes(content + tail)
        assert samples.settled_end(files, 0) == len(content)
        assert samples.settled_end(files, len(content)) == len(content)
    (tmp_path / "samples").write_bytes(content + state)
    assert samples.settled_end(files, len(content)) == len(content + state)


@pytest.mark.parametrize("size", range(len(samples.HEADER)))
def test_a_header_under_construction_has_no_samples_yet(tmp_path, size):
    content = samples.HEADER + series(0, "loss") + block(0, columns_of([(0.5, 1.0, 7, 0)]))
    (tmp_path / "samples").write_bytes(content[:size])
    file = samples.SampleFile(FolderFiles(str(tmp_path)))
    assert file.read_new() == {}
    (tmp_path / "samples").write_bytes(content)
    assert list(file.read_new()["loss"].values) == [0.5]


@pytest.mark.parametrize(
    "content",
    [
        b"another header 1",
        samples.HEADER + frame(0, b""),
        samples.HEADER + frame(samples.SERIES, b"{}"),
        samples.HEADER + frame(samples.SERIES, b"[" * 100_000),
        samples.HEADER + frame(samples.SERIES, b'{"id": 0, "metric": "", "units": "", "labels": {}}'),
        samples.HEADER + frame(samples.SERIES, b'{"id": 0, "metric": 7, "units": "", "labels": {}}'),
        samples.HEADER + frame(samples.SERIES, b'{"id": [], "metric": "m", "units": "", "labels": {}}'),
        samples.HEADER + block(0, columns_of([(0.5, 1.0, 7, 0)])),
        samples.HEADER + series(0, "loss") + frame(samples.BLOCK, b"\0" * 4),
        samples.HEADER + series(0, "loss") + frame(samples.BLOCK, b"\0\0\0\0\1\0\0\0"),
        samples.HEADER + frame(samples.STATE, b"not JSON"),
    ],
)
def test_content_that_no_extractor_writes_is_damage(tmp_path, content):
    (tmp_path / "samples").write_bytes(content)
    with pytest.raises(DamagedError, match="samples"):
        samples.load(FolderFiles(str(tmp_path)))


@pytest.mark.parametrize(
    ("tail", "complete"),
    [
        (b"", False),
        (frame(samples.STATE, b"{}"), False),
        (frame(samples.STATE, b'{"complete": false}'), False),
        (frame(samples.STATE, b'{"complete": true}'), True),
        (frame(samples.STATE, b'{"complete": true}') + series(1, "more"), False),
    ],
)
def test_samples_are_complete_if_they_end_with_the_state_of_a_whole_reading(tmp_path, tail, complete):
    content = samples.HEADER + series(0, "loss") + block(0, columns_of([(0.5, 1.0, 7, 0)]))
    (tmp_path / "samples").write_bytes(content + tail)
    file = samples.SampleFile(FolderFiles(str(tmp_path)))
    file.read_new()
    assert file.complete is complete
