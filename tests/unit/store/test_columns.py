import math
import sys
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.model.points import NO_STEP
from anubis.store import columns
from anubis.store.columns import pack, unpack
from anubis.store.samples import Summary, summary_of, thinned

FLOATS = st.floats(allow_nan=False)
STEPS = st.integers(-(2**63), 2**63 - 1)
ROWS = st.lists(st.tuples(FLOATS, FLOATS, STEPS | st.just(NO_STEP), st.integers(-(2**31), 2**31 - 1)))


def columns_of(rows):
    by_column = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return tuple(array(code, column) for code, column in zip("ddqi", by_column, strict=True))


@pytest.fixture(params=["standard library", "numpy"])
def means(request, monkeypatch):
    """Both ways of working on columns, whatever their length."""
    monkeypatch.setattr(columns, "worth_numpy", lambda length: request.param == "numpy" and length > 0)


@given(rows=ROWS)
@pytest.mark.parametrize("writer", [False, True], ids=["plain", "numpy"])
@pytest.mark.parametrize("reader", [False, True], ids=["plain", "numpy"])
def test_any_columns_come_back_whoever_wrote_them(rows, writer, reader):
    whole = columns_of(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "worth_numpy", lambda length: writer and length > 0)
        blob = pack(whole)
        patch.setattr(columns, "worth_numpy", lambda length: reader and length > 0)
        back = unpack(blob)
    assert [column.tobytes() for column in back] == [column.tobytes() for column in whole]


@pytest.mark.usefixtures("means")
def test_a_missing_value_keeps_its_bits():
    whole = (
        array("d", [math.nan, -0.0]),
        array("d", [math.nan, 1.0]),
        array("q", [0, 1]),
        array("i", [0, 0]),
    )
    assert [column.tobytes() for column in unpack(pack(whole))] == [column.tobytes() for column in whole]


@pytest.mark.usefixtures("means")
def test_a_regular_series_takes_little_more_than_its_values():
    length = 5000
    values = array("d", [math.sin(i * 12.9898) * 43758.5453 for i in range(length)])
    times_s = array("d", [1_700_000_000 + i / 64 for i in range(length)])
    blob = pack((values, times_s, array("q", range(length)), array("i", bytes(4 * length))))
    assert len(blob) < 8.1 * length


def test_another_version_is_refused():
    blob = bytearray(pack(columns_of([(1.0, 2.0, 3, 4)])))
    blob[0] = 2
    with pytest.raises(ValueError, match="version 2"):
        unpack(bytes(blob))


def test_short_columns_do_not_load_numpy(monkeypatch):
    monkeypatch.delitem(sys.modules, "numpy", raising=False)
    assert not columns.worth_numpy(8000)
    assert columns.worth_numpy(9000)
    monkeypatch.setitem(sys.modules, "numpy", object())
    assert columns.worth_numpy(1000)
    assert not columns.worth_numpy(100)


@given(values=st.lists(FLOATS, min_size=1, max_size=200), most=st.integers(1, 50))
@pytest.mark.parametrize("numpy", [False, True], ids=["plain", "numpy"])
def test_thinning_keeps_order_and_extremes(values, most, numpy):
    whole = columns_of([(value, float(i), i, 0) for i, value in enumerate(values)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anubis.store.samples.worth_numpy", lambda _: numpy)
        thin = thinned(whole, most)
    assert 1 <= len(thin[0]) <= most
    assert list(thin[2]) == sorted(set(thin[2]))
    assert [values[step] for step in thin[2]] == list(thin[0])
    if most > 1:
        assert (min(thin[0]), max(thin[0])) == (min(values), max(values))


@given(st.lists(st.floats(-1e6, 1e6)), st.lists(st.floats(-1e6, 1e6)))
def test_summaries_add_up(first, second):
    whole = summary_of(array("d", first + second))
    parts = summary_of(array("d", first)).followed_by(summary_of(array("d", second)))
    assert (parts.count, parts.min, parts.max) == (whole.count, whole.min, whole.max)
    assert parts.sum == pytest.approx(whole.sum, abs=1e-6)
    if first or second:
        assert parts.last == whole.last


def test_a_summary_of_nothing_but_missing_values_has_no_extremes():
    summary = summary_of(array("d", [math.nan]))
    assert summary.count == 1
    assert all(math.isnan(x) for x in (summary.min, summary.max, summary.sum, summary.last))
    later = summary.followed_by(Summary(1, 2.0, 2.0, 2.0, 2.0))
    assert (later.count, later.min, later.max, later.last) == (2, 2.0, 2.0, 2.0)
