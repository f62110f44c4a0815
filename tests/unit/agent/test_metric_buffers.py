import numpy as np
import pytest

from anubis.agent.extract.metric_buffers import MetricBuffers, RejectedError, number, step_number
from anubis.record.samples import NO_STEP


@pytest.mark.parametrize(
    ("given", "value"),
    [("1e-5", 1e-5), (" 2 ", 2.0), ("-.5", -0.5), (3, 3.0), (True, 1.0), ("+1E3", 1000.0)],
)
def test_numbers(given, value):
    assert number(given) == value


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("nan", "not finite"),
        ("-inf", "not finite"),
        ("1e999", "not finite"),
        (float("nan"), "not finite"),
        ("1,000", "not a number"),
        ("1_000", "not a number"),
        ("٣", "not a number"),
        ("", "not a number"),
        (None, "not a number"),
        ([1], "not a number"),
        (10**400, "not a number"),
    ],
)
def test_what_is_no_number(given, reason):
    with pytest.raises(RejectedError, match=reason):
        number(given)


@pytest.mark.parametrize(
    ("given", "step"), [(None, NO_STEP), ("12", 12), (3, 3), ("1e3", 1000), (2.0, 2), ("-4", -4)]
)
def test_steps(given, step):
    assert step_number(given) == step


@pytest.mark.parametrize("given", ["x", float("nan"), 2**63, [], "9" * 30])
def test_what_is_no_step(given):
    with pytest.raises(RejectedError, match="bad step"):
        step_number(given)


def test_a_bad_step_costs_only_the_step():
    buffers = MetricBuffers({})
    buffer = buffers["loss", None, ()]
    buffer.take(1, 2.0, "x", 0)
    assert list(buffer.columns.values) == [1.0]
    assert list(buffer.columns.steps) == [NO_STEP]
    assert buffer.report.rejected == {"bad step": 1}


@pytest.mark.parametrize(
    "texts", [["1", "2.5", "1e3"], ["1", "nan", "2"], ["1_0", "2"], ["", "3"], ["1e308", "1e308"]]
)
def test_many_at_once_are_taken_like_one_by_one(texts):
    many, single = MetricBuffers({})["m", None, ()], MetricBuffers({})["m", None, ()]
    many.take_many(texts, [float(at) for at in range(len(texts))], 1)
    for at, text in enumerate(texts):
        single.take(text, float(at), None, 1)
    assert many.columns.to_bytes() == single.columns.to_bytes()
    assert (many.report.count, many.report.rejected) == (single.report.count, single.report.rejected)


def test_units_come_from_the_declaration_unless_emitted():
    buffers = MetricBuffers({"loss": {"pattern": None, "units": "nats"}})
    assert buffers["loss", None, ()].columns.units == "nats"
    assert buffers["loss", "bits", ()].columns.units == "bits"
    assert buffers["other", None, ()].columns.units == "none"
    assert buffers["loss", None, ()] is not buffers["loss", None, (("rank", "1"),)]


def test_numbers_of_numpy_arrive_as_numbers():
    assert number(np.float64(0.5)) == 0.5
