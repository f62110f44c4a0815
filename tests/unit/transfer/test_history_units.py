import pytest

from anubis.model.metric import Better
from anubis.transfer.history_units import dimension, direction


@pytest.mark.parametrize(
    "units",
    [
        "s",
        "ms",
        "us",
        "µs",
        "ns",
        "sec",
        "seconds",
        "msec",
        "usec",
        "ns/iter",
        "ns/op",
        "milliseconds",
        "min",
        "h",
    ],
)
def test_time_is_better_lower(units):
    assert (dimension(units), direction(units)) == ("time", Better.LOWER)


@pytest.mark.parametrize(
    "units",
    [
        "iter/sec",
        "ops/s",
        "ops/sec",
        "items/s",
        "MB/s",
        "GiB/s",
        "Mbits/sec",
        "transactions_per_second",
        "requests/s",
    ],
)
def test_throughput_is_better_higher(units):
    assert (dimension(units), direction(units)) == ("throughput", Better.HIGHER)


@pytest.mark.parametrize(
    "units", ["tokens per second", "fps", "GFLOPS", "qps", "img/s", "bytes/s", "samples/sec"]
)
def test_spellings_of_throughput(units):
    assert dimension(units) == "throughput"


@pytest.mark.parametrize(
    "units", ["none", "", "%", "errors/s", "MB", "bytes", "answers", "m", "misses/sec", "items"]
)
def test_where_the_unit_is_not_certain_there_is_no_direction(units):
    assert (dimension(units), direction(units)) == ("value", Better.NONE)


def test_bytes_for_each_call_are_better_lower():
    assert (dimension("B/op"), direction("B/op")) == ("memory", Better.LOWER)
