"""Bounds of the descriptor: which of them a value crosses, and what relative bounds refer to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.judging.thresholds import Reference, alert_row, crossed_bounds, references_of
from anubis.model.metric import Better, Metric, Threshold
from anubis.model.series import SeriesVerdict
from anubis.testing import a_point, a_run
from support.alerts import a_row

LEVEL = {
    bound: Reference(level=level, noise_floor=0.01) for bound, level in (("sigma", 100), ("change", 100))
}


def crossed(value, better=Better.HIGHER, references=LEVEL, units="ms", **bounds):
    metric = Metric(name="m", better=better, threshold=Threshold(**bounds))
    return list(crossed_bounds(metric, value, units, references))


@pytest.mark.parametrize(
    ("bounds", "value", "note"),
    [
        ({"min": 50}, 45, "below its minimum of 50 ms"),
        ({"max": 50}, 50.5, "above its maximum of 50 ms"),
        ({"sigma": 3}, 96, "4.0 sigma from its level of 100 ms (limit 3)"),
        ({"sigma": 3}, 104, "4.0 sigma from its level of 100 ms (limit 3)"),
        ({"change": 0.05}, 90, "-10.0 % from its level of 100 ms (limit 5.0 %)"),
    ],
)
def test_a_crossed_bound_says_by_how_much(bounds, value, note):
    (bound,) = crossed(value, **bounds)
    assert (bound.bound, bound.value, bound.note) == (next(iter(bounds)), value, note)
    assert bound.reference == (100 if bound.bound in LEVEL else 50)


@pytest.mark.parametrize(
    ("bounds", "value"),
    [
        ({"min": 50}, 50),
        ({"max": 50}, 50),
        ({"sigma": 3}, 97),
        ({"change": 0.05}, 95),
        ({"change": 0.05}, 200),
        ({"change": 0.05, "min_effect": 0.2}, 90),
        ({"sigma": 3, "min_effect": 0.2}, 90),
        ({}, 1e9),
    ],
)
def test_a_kept_bound_is_not_crossed(bounds, value):
    assert crossed(value, **bounds) == []


@pytest.mark.parametrize(("better", "worse"), [(Better.HIGHER, -120), (Better.LOWER, -80)])
def test_a_change_of_a_negative_level_has_the_direction_of_the_values(better, worse):
    negative = {"change": Reference(level=-100, noise_floor=None)}
    (bound,) = crossed(worse, better, negative, change=0.05)
    assert bound.note.startswith("-20.0 %" if worse < -100 else "+20.0 %")
    assert crossed(-200 - worse, better, negative, change=0.05) == []


def test_a_relative_bound_without_a_level_or_noise_is_not_checked():
    assert crossed(1, references={}, sigma=3, change=0.05) == []
    unknown = {
        "sigma": Reference(level=100, noise_floor=None),
        "change": Reference(level=0, noise_floor=None),
    }
    assert crossed(1, references=unknown, sigma=3, change=0.05) == []


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_a_value_is_below_a_minimum_or_keeps_it(value, minimum):
    found = crossed(value, min=minimum)
    assert bool(found) == (value < minimum)


def test_values_that_differ_are_never_shown_as_equal():
    (bound,) = crossed(49.99999, min=50)
    assert bound.note == "below its minimum of 50 ms"
    (bound,) = crossed(0.0123456, min=0.01234561, units="s")
    assert bound.note == "below its minimum of 12.34561 ms"


def verdict(level):
    return SeriesVerdict(
        n=9, changes=(), suspected=None, level=level, expected=None, noise_floor=0.02, detectable=None
    )


@pytest.mark.parametrize(
    ("better", "effect", "level"),
    [
        (Better.HIGHER, -0.2, 100),
        (Better.HIGHER, 0.2, 80),
        (Better.HIGHER, 0.0, 80),
        (Better.LOWER, 0.2, 100),
        (Better.LOWER, -0.2, 80),
        (Better.NONE, 0.2, 100),
        (Better.NONE, -0.2, 100),
    ],
)
def test_after_a_change_for_the_worse_a_bound_stays_relative_to_the_level_before(better, effect, level):
    """After any other change it is relative to the current level."""
    rows = {"sigma": a_row(effect=effect, before=100, noise_floor=0.01)}
    found = references_of(Metric(name="m", better=better), verdict(80), rows)
    assert found["sigma"].level == level
    assert found["sigma"].noise_floor == (0.01 if level == 100 else 0.02)
    assert found["change"].level == 80


def test_without_a_level_there_are_no_references():
    metric = Metric(name="m", better=Better.HIGHER)
    assert references_of(metric, None, {}) == references_of(metric, verdict(None), {}) == {}


def test_the_row_of_an_alert_has_the_effect_of_its_values():
    point = a_point(a_run(), "m", 90.0)
    (bound,) = crossed(90.0, change=0.05)
    row = alert_row(point, bound)
    assert (row.effect, row.before, row.after, row.note) == (pytest.approx(-0.1), 100, 90.0, bound.note)
    (bound,) = crossed(-1.0, min=0)
    assert alert_row(point, bound).effect == 0.0
