"""What the detector says about whole series."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from anubis.analysis.changes.detection import find_changes, judge_many, judge_series
from anubis.model.errors import BadInputError
from anubis.model.series import ChangeKind, ChangeState, Sensitivity, Series
from anubis.model.verdict import Judgement


def series(values, **fields):
    return Series(values=tuple(float(value) for value in values), **fields)


def noisy(seed, n=120, step_at=None, size=0.0, sigma=0.02):
    logs = sigma * np.random.default_rng(seed).standard_normal(n)
    if step_at is not None:
        logs[step_at:] += size
    return 100 * np.exp(logs)


def found(values, **options):
    return find_changes([series(values)], **options)[0]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_short_series_have_no_changes_and_no_prediction(n):
    verdict = judge_series(series(range(n)))
    assert (verdict.n, verdict.changes, verdict.expected, verdict.noise_floor) == (n, (), None, None)
    assert (verdict.level is None) is (n == 0)


@pytest.mark.parametrize(
    ("better", "judgement"),
    [
        ("higher", Judgement.IMPROVED),
        ("lower", Judgement.REGRESSED),
        ("none", Judgement.CHANGED),
    ],
)
def test_a_step_is_found_where_it_is_with_its_size(better, judgement):
    verdict = judge_series(series(noisy(1, n=118, step_at=70, size=math.log(1.1)), better=better))
    (change,) = verdict.changes
    assert change.index == 70
    assert change.earliest <= 70 <= change.latest
    assert change.judgement is judgement
    assert change.state is ChangeState.CONFIRMED
    assert change.kind is ChangeKind.STEP
    low, high = change.interval
    assert low < 0.1 < high
    assert change.effect == pytest.approx(0.1, abs=0.015)
    assert (change.n_before, change.n_after) == (70, 48)
    assert change.before == pytest.approx(100, rel=0.02)
    assert change.after == pytest.approx(110, rel=0.02)
    assert change.noise_floor == pytest.approx(0.02, abs=0.006)
    assert change.detectable < 0.1
    assert verdict.suspected is None
    assert verdict.level == change.after


def test_the_smallest_possible_new_level_is_found():
    values = noisy(2, n=60, step_at=57, size=0.2)
    assert found(values) == [57]
    assert found(values[:59]) == []
    verdict = judge_series(series(values[:59], better="lower"))
    assert verdict.suspected is not None
    assert verdict.suspected.index == 57
    assert verdict.suspected.state is ChangeState.SUSPECTED
    assert verdict.suspected.judgement is Judgement.REGRESSED
    assert verdict.suspected.effect == pytest.approx(0.22, abs=0.05)


def test_points_inside_the_prediction_are_not_suspect():
    verdict = judge_series(series(noisy(3)))
    assert verdict.suspected is None
    low, high = verdict.expected
    assert low < 100 < high
    assert verdict.detectable > verdict.noise_floor > 0


def test_lone_spikes_are_no_levels():
    values = noisy(4, n=200)
    values[[30, 77, 78, 140, 199]] *= 1.5
    assert found(values, min_effect=0.0) == []


def test_changes_below_the_minimum_effect_are_left_out():
    values = noisy(5, n=160, step_at=80, size=0.015, sigma=0.005)
    assert found(values, min_effect=0.0) == [80]
    assert found(values, min_effect=0.02) == []


def test_sensitivity_orders_the_changes():
    counts = [
        sum(
            len(found(noisy(seed, step_at=60, size=0.022), sensitivity=level, min_effect=0.0))
            for seed in range(40)
        )
        for level in (Sensitivity.QUIET, Sensitivity.NORMAL, Sensitivity.SENSITIVE)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[2]


def test_a_slope_is_called_drift_and_steps_are_not():
    slope = noisy(6, n=200) * np.exp(np.linspace(0, 0.12, 200))
    kinds = {change.kind for change in judge_series(series(slope)).changes}
    assert kinds == {ChangeKind.DRIFT}
    stairs = noisy(7, n=200) * np.exp(0.08 * (np.arange(200) // 60))
    changes = judge_series(series(stairs)).changes
    assert [change.kind for change in changes] == [ChangeKind.STEP] * 3


def test_slopes_in_opposite_directions_are_two_drifts():
    tent = np.concatenate([np.linspace(0, 0.12, 150), np.linspace(0.12, 0, 150)])
    changes = judge_series(series(noisy(6, n=300) * np.exp(tent))).changes
    assert {change.kind for change in changes} == {ChangeKind.DRIFT}
    assert {change.effect > 0 for change in changes} == {True, False}


def test_known_errors_of_repeats_find_what_equal_weights_miss():
    noise = np.random.default_rng(8)
    errors = np.exp(noise.uniform(np.log(0.002), np.log(0.3), 150))
    logs = errors * noise.standard_normal(150)
    logs[75:] += 0.02
    values = 100 * np.exp(logs)
    assert found(values, min_effect=0.0) == []
    (at,) = find_changes([series(values, errors=tuple(values * errors))], min_effect=0.0)[0]
    assert abs(at - 75) <= 5


@pytest.mark.parametrize("value", [0.0, 7.0, -3.0, 5e-324, 1e308])
@pytest.mark.parametrize("n", [6, 7, 100])
def test_constants_never_alarm(value, n):
    verdict = judge_series(series([value] * n), min_effect=0.0)
    assert verdict.changes == ()
    assert verdict.suspected is None


def test_exact_values_that_change_are_found():
    assert found([1000] * 20 + [1100] * 20) == [20]
    assert found([0] * 20 + [3] * 20) == [20]
    assert found([-10] * 20 + [-8] * 20) == [20]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(bad):
    with pytest.raises(BadInputError, match="point 2 of series 'loss'"):
        judge_series(series([1, 2, bad], metric="loss"))
    with pytest.raises(BadInputError, match="errors of the series"):
        judge_series(series([1, 2], errors=(0.1, bad)))


def test_lists_that_do_not_fit_are_refused():
    with pytest.raises(BadInputError, match="2 values and 1 errors"):
        judge_series(series([1, 2], errors=(0.1,)))
    with pytest.raises(BadInputError, match="2 values and 3 subjects"):
        judge_series(series([1, 2], subjects=("a", "b", "c")))
    with pytest.raises(BadInputError, match="below 0"):
        judge_series(series([1, 2], errors=(0.1, -0.1)))


def test_series_of_all_lengths_are_judged_together_as_alone():
    many = [series(noisy(seed, n=3 + 7 * seed, step_at=4 * seed, size=0.1)) for seed in range(20)]
    many.append(series(noisy(1), errors=(0.5,) * 120))
    assert judge_many(many) == [judge_series(one) for one in many]


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.floats(-0.2, 0.2), st.sampled_from([2.0**-200, 1e-6, 3.0, 2.0**100]))
def test_the_unit_does_not_matter(seed, size, factor):
    values = noisy(seed, step_at=60, size=size)
    here, there = judge_series(series(values)), judge_series(series(values * factor))
    assert [change.index for change in there.changes] == [change.index for change in here.changes]
    for one, other in zip(here.changes, there.changes, strict=True):
        assert other.effect == pytest.approx(one.effect, abs=1e-9)
        assert other.z == pytest.approx(one.z, rel=1e-6)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.floats(-0.2, 0.2))
def test_throughput_and_time_change_at_the_same_points(seed, size):
    values = noisy(seed, step_at=60, size=size)
    rates, times = (judge_series(series(one), min_effect=0.0).changes for one in (values, 1e4 / values))
    assert [change.index for change in rates] == [change.index for change in times]
    for one, other in zip(rates, times, strict=True):
        assert (1 + one.effect) * (1 + other.effect) == pytest.approx(1)


@settings(max_examples=60)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=40), st.integers(0, 3))
@example([0.0, 0.0, *[8.98846567431158e307] * 4], 0)
def test_any_finite_values_get_a_verdict_without_warnings(values, zeros):
    verdict = judge_series(series(values + [0.0] * zeros), min_effect=0.0)
    assert verdict.n == len(values) + zeros
    for change in verdict.changes:
        assert change.earliest <= change.index <= change.latest
        assert change.interval[0] <= change.effect <= change.interval[1]


@settings(max_examples=40)
@given(st.lists(st.sampled_from([1.0, 1.25, 1.5]), min_size=6, max_size=60))
def test_ties_are_no_evidence_by_themselves(values):
    for change in judge_series(series(values)).changes:
        assert min(change.n_before, change.n_after) >= 3
        assert change.before != change.after


def test_one_bad_series_among_many_is_named():
    many = [series(range(1, 9), metric="good"), series([*range(7), math.inf], metric="bad")]
    with pytest.raises(BadInputError, match="point 7 of series 'bad' is inf"):
        find_changes(many)
    with pytest.raises(BadInputError, match="errors of the series"):
        judge_series(series(range(8), errors=(0.1,) * 7 + (math.nan,)))
