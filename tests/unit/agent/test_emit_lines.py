import json

import pytest

from anubis.agent.extract.emit_lines import Emitted
from anubis.agent.extract.metric_buffers import MetricBuffers
from anubis.record.samples import NO_STEP


@pytest.fixture
def buffers():
    return MetricBuffers({})


@pytest.fixture
def emitted(buffers):
    return Emitted(buffers)


def taken(buffers, metric="loss", labels=()):
    columns = buffers[metric, None, labels].columns
    return list(zip(columns.values, columns.times_s, columns.steps, columns.repeats, strict=True))


def test_the_old_protocol_takes_the_time_of_arrival(buffers, emitted):
    emitted.take(b'{"loss": 0.5, "name": "x", "flag": true, "text": "2.5", "list": [1]}', 9.0, 2)
    assert taken(buffers) == [(0.5, 9.0, NO_STEP, 2)]
    assert taken(buffers, "flag") == [(1.0, 9.0, NO_STEP, 2)]
    assert taken(buffers, "text") == [(2.5, 9.0, NO_STEP, 2)]
    assert buffers.reports["name"].rejected == buffers.reports["list"].rejected == {"not a number": 1}


def test_a_batch(buffers, emitted):
    line = {"anubis": 1, "m": {"loss": [1, 2], "acc": [3, 4]}, "s": [7, None], "t": [10**9, 2 * 10**9]}
    emitted.take(json.dumps(line).encode(), 9.0, 0)
    assert taken(buffers) == [(1, 1.0, 7, 0), (2, 2.0, NO_STEP, 0)]
    assert taken(buffers, "acc") == [(3, 1.0, 7, 0), (4, 2.0, NO_STEP, 0)]


def test_a_batch_of_one_moment(buffers, emitted):
    emitted.take(b'{"anubis":1,"m":{"loss":[1,2]},"t":1000000000,"s":5}', 9.0, 0)
    assert taken(buffers) == [(1, 1.0, 5, 0), (2, 1.0, 5, 0)]


def test_lists_that_do_not_fit_are_as_if_not_given(buffers, emitted):
    emitted.take(b'{"anubis":1,"m":{"loss":[1,2]},"t":[5],"s":[1,2,3]}', 9.0, 0)
    assert taken(buffers) == [(1, 9.0, NO_STEP, 0), (2, 9.0, NO_STEP, 0)]


@pytest.mark.parametrize("line", [b"", b"{", b"[1]", b"3", b"\xff\xfe", b'{"anubis":1}', b"[" * 100_000])
def test_what_is_not_understood_is_counted(buffers, emitted, line):
    emitted.take(line, 9.0, 0)
    assert emitted.bad_lines == 1
    assert buffers.with_samples() == []


@pytest.mark.parametrize("metrics", [b"3", b"null", b"[]", b'"loss"'])
def test_an_extended_line_without_metrics_is_counted(buffers, emitted, metrics):
    emitted.take(b'{"anubis":1,"m":' + metrics + b"}", 9.0, 0)
    assert emitted.bad_lines == 1
    assert buffers.with_samples() == []


def test_fields_of_other_types_are_ignored(buffers, emitted):
    """Time and step are those of the arrival; units and labels are absent."""
    emitted.take(b'{"anubis":1,"m":{"loss":1},"t":"x","s":[],"u":3,"l":4}', 9.0, 0)
    assert taken(buffers) == [(1.0, 9.0, NO_STEP, 0)]
    assert emitted.bad_lines == 0


@pytest.mark.parametrize("value", [b"{}", b'"fast"', b"null"])
def test_a_value_that_is_no_number_is_rejected(buffers, emitted, value):
    emitted.take(b'{"anubis":1,"m":{"a":' + value + b',"b":2}}', 9.0, 0)
    assert taken(buffers, "a") == []
    assert taken(buffers, "b") == [(2.0, 9.0, NO_STEP, 0)]
    assert buffers.reports["a"].rejected == {"not a number": 1}


def test_what_a_writer_gave_up_is_counted(buffers, emitted):
    emitted.take(b'{"anubis":1,"dropped":12}', 9.0, 0)
    emitted.take(b'{"anubis":1,"dropped":3}', 9.0, 0)
    assert (emitted.dropped, emitted.bad_lines) == (15, 0)


def test_a_metric_of_an_earlier_extraction_is_not_declared_by_that(buffers, emitted):
    """Of an object with other fields, only declared metrics are read."""
    buffers.restore([], {"loss": [1, {}, None]})
    emitted.take_stdout(b'{"loss": 2, "level": "info"}', 9.0, 0)
    assert buffers.with_samples() == []


def test_objects_on_stdout(buffers, emitted):
    emitted.take_stdout(b'{"loss": 1}', 9.0, 0)
    emitted.take_stdout(b'{"loss": 2, "level": "info"}', 9.0, 0)
    emitted.take_stdout(b'{"loss": 3, "done": true}', 9.0, 0)
    emitted.take_stdout(b'{"loss": 4', 9.0, 0)
    emitted.take_stdout(b'{"anubis":1,"m":{"loss":5},"l":{"rank":"1"}}', 9.0, 0)
    assert [row[0] for row in taken(buffers)] == [1]
    assert [row[0] for row in taken(buffers, labels=(("rank", "1"),))] == [5]
    assert emitted.bad_lines == 0


def test_a_metric_without_a_name_is_not_valid_and_takes_nothing_else_with_it(buffers, emitted):
    """A series without a name makes the file ``samples`` unreadable."""
    emitted.take(b'{"": 1, "loss": 0.5}', 9.0, 0)
    emitted.take(b'{"anubis":1,"m":{"":1,"loss":0.25}}', 9.0, 0)
    emitted.take_stdout(b'{"": 1}', 9.0, 0)
    assert [value for value, *_ in taken(buffers)] == [0.5, 0.25]
    assert (emitted.bad_lines, set(buffers.reports)) == (3, {"loss"})


@pytest.mark.parametrize("times", [10**400, [10**400]])
def test_a_time_that_no_clock_has_is_replaced_by_that_of_the_arrival(buffers, emitted, times):
    emitted.take(json.dumps({"anubis": 1, "m": {"loss": [1]}, "t": times}).encode(), 9.0, 0)
    emitted.take(json.dumps({"anubis": 1, "m": {"loss": 1}, "t": times}).encode(), 9.0, 0)
    assert taken(buffers) == [(1, 9.0, NO_STEP, 0)] * 2
