import pytest

from anubis.judging.comparison import compare_points
from anubis.judging.units import in_newest_unit, in_unit, joined, place_of
from anubis.model.errors import BadInputError
from anubis.testing import a_point, a_run
from anubis.testing.builders import block_of

RUN = a_run()


def point(value, units, order_s=0.0, metric="latency", **changes):
    return a_point(RUN, metric, value, units=units, order_s=order_s, **changes)


def test_points_are_converted_with_their_spread():
    [ms, s] = in_unit([point(2.0, "ms", spread=0.5, count=2), point(1.0, "s")], "s")
    assert (ms.value, ms.spread, ms.units) == (0.002, 0.0005, "s")
    assert (s.value, s.units) == (1.0, "s")


def test_all_metrics_that_cannot_be_converted_are_named_at_once():
    with pytest.raises(BadInputError) as caught:
        in_unit([point(1.0, "s", metric="a"), point(1.0, "ms", metric="b"), point(1.0, "MB")], "MB")
    assert '"a" has values in "MB" and in "s"' in caught.value.message
    assert '"b"' in caught.value.message


def test_a_series_has_the_unit_of_its_newest_point():
    series = in_newest_unit([point(1.0, "s"), point(7.0, "MB"), point(2.0, "ms")])
    assert [(one.value, one.units) for one in series] == [(1000.0, "ms"), (2.0, "ms")]


def test_histories_are_joined_in_order_and_others_stay_apart():
    old = block_of([point(1.0, "s", 1.0), point(3.0, "s", 3.0)])
    new = block_of([point(2.0, "ms", 2.0)])
    other = block_of([point(9.0, "MB", 4.0)])
    blocks = joined([old, new, other], {place_of(old): "ms"})
    assert [(block.units, block.values, block.orders_s) for block in blocks] == [
        ("ms", (1000.0, 2.0, 3000.0), (1.0, 2.0, 3.0)),
        ("MB", (9.0,), (4.0,)),
    ]


def test_a_second_and_a_thousand_milliseconds_are_equal():
    [verdict] = compare_points([point(1.0, "s")] * 6, [point(1000.0, "ms")] * 6).verdicts
    assert (verdict.units, verdict.baseline, verdict.contender) == ("ms", 1000.0, 1000.0)


def test_seconds_and_bytes_are_not_compared():
    with pytest.raises(BadInputError, match="cannot be converted"):
        compare_points([point(1.0, "s")], [point(1.0, "bytes")])
