"""Bounds of descriptors: which of them a point crosses, and relative to which level."""

import pytest

from anubis.judging.thresholds import crossed_bounds
from anubis.model.metric import Better, Metric, Threshold
from anubis.model.series import Series
from anubis.testing import a_point, a_run
from support.alerts import a_row


def judged(*values):
    from anubis.analysis.changes.detection import judge_many  # noqa: PLC0415  loads scipy, which few of these tests need

    return judge_many([Series(values=values, subjects=("",) * len(values))])[0]


def crossed(value, threshold, *, before=None, better=Better.LOWER, open_rows=None):
    metric = Metric(name="latency", better=better, threshold=threshold)
    point = a_point(a_run(), "latency", value, better=str(better), units="ms")
    return dict(crossed_bounds(metric, point, before, open_rows or {}))


@pytest.mark.parametrize(
    ("value", "names"),
    [(9.9, ["min"]), (10.0, []), (20.0, []), (20.1, ["max"])],
)
def test_a_value_at_a_bound_does_not_cross_it(value, names):
    assert list(crossed(value, Threshold(min=10.0, max=20.0))) == names


LEVEL = judged(*[100.0, 101.0, 99.0, 100.5, 99.5] * 4)


def test_a_relative_bound_is_relative_to_the_level_before():
    found = crossed(120.0, Threshold(change=0.1), before=LEVEL)
    assert found["change"].before == pytest.approx(100.0, rel=0.01)
    assert crossed(120.0, Threshold(change=0.1)) == {}, "without a level there is nothing to be relative to"


@pytest.mark.parametrize(
    ("better", "value", "is_crossed"),
    [
        (Better.LOWER, 120.0, True),
        (Better.LOWER, 80.0, False),
        (Better.HIGHER, 80.0, True),
        (Better.HIGHER, 120.0, False),
        (Better.NONE, 80.0, True),
        (Better.NONE, 120.0, True),
    ],
)
def test_the_bound_for_a_change_is_crossed_by_changes_for_the_worse(better, value, is_crossed):
    assert bool(crossed(value, Threshold(change=0.1), before=LEVEL, better=better)) == is_crossed


def test_sigma_counts_in_both_directions():
    for value in (120.0, 80.0):
        assert "sigma" in crossed(value, Threshold(sigma=3.0), before=LEVEL)
    assert crossed(101.0, Threshold(sigma=3.0), before=LEVEL) == {}


@pytest.mark.parametrize("bound", [{"change": 0.1}, {"sigma": 3.0}])
def test_after_a_change_for_the_worse_the_bound_stays_relative_to_the_old_level(bound):
    """The series has adopted the worse level; the open row keeps the bound where it was crossed."""
    (name,) = bound
    row = a_row(before=80.0, effect=0.25, noise_floor=0.005)
    found = crossed(100.0, Threshold(**bound), before=LEVEL, open_rows={name: row})
    assert found[name].before == 80.0
    assert crossed(80.0, Threshold(**bound), before=LEVEL, open_rows={name: row}).keys() == set()


@pytest.mark.parametrize("effect", [-0.5, 0.0])
def test_after_any_other_change_the_bound_is_relative_to_the_level_of_the_series(effect):
    """Only sigma opens a row for an improvement; the new level is what later points are compared with."""
    row = a_row(before=200.0, effect=effect, noise_floor=0.005)
    assert crossed(100.0, Threshold(sigma=3.0), before=LEVEL, open_rows={"sigma": row}) == {}
    found = crossed(120.0, Threshold(sigma=3.0), before=LEVEL, open_rows={"sigma": row})
    assert found["sigma"].before == pytest.approx(100.0, rel=0.01)


@pytest.mark.parametrize(("value", "is_crossed"), [(104.9, False), (105.1, True)])
def test_effects_below_the_smallest_that_counts_cross_nothing_relative(value, is_crossed):
    limits = Threshold(change=0.01, min_effect=0.05)
    assert bool(crossed(value, limits, before=LEVEL)) == is_crossed
