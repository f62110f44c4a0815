"""Point by point, all at once and many together are one algorithm."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from anubis.analysis.changes.detection import find_changes, judge_series
from anubis.analysis.changes.online import Detector
from anubis.model.errors import BadInputError
from anubis.model.series import Series


def history(seed, n):
    """Levels, outliers and heavy tails, as they come in real histories."""
    random = np.random.default_rng(seed)
    logs = 0.02 * random.standard_t(3, n)
    for at in random.integers(0, n, size=random.integers(0, 5)):
        logs[at:] += random.uniform(-0.1, 0.1)
    logs[random.integers(0, n, size=2)] += random.uniform(-3, 3)
    return (100 * np.exp(logs)).tolist()


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 150), st.sampled_from([0.0, 0.02]))
def test_appending_says_what_judging_the_whole_says(seed, n, min_effect):
    values = history(seed, n)
    detector = Detector(min_effect=min_effect, metric="m", units="s", better="lower")
    for count, value in enumerate(values, 1):
        before = detector.changes
        assert detector.append(value) == (detector.changes != before)
        if count % 13 == 0 or count == n:
            whole = Series(values=tuple(values[:count]), metric="m", units="s", better="lower")
            assert detector.changes == tuple(find_changes([whole], min_effect=min_effect)[0])
            assert detector.verdict() == judge_series(whole, min_effect=min_effect)


@settings(max_examples=15)
@example(304130, 101, 8)
@given(st.integers(0, 10**6), st.integers(6, 120), st.integers(0, 100))
def test_known_errors_agree_too_from_whenever_they_are_known(seed, n, known_from):
    values = history(seed, n)
    random = np.random.default_rng(seed)
    errors = [float(random.uniform(0, 9)) if at >= known_from else 0.0 for at in range(n)]
    detector = Detector(min_effect=0.0)
    for value, error in zip(values, errors, strict=True):
        detector.append(value, error)
    whole = Series(values=tuple(values), errors=tuple(errors) if any(errors) else ())
    assert detector.changes == tuple(find_changes([whole], min_effect=0.0)[0])


@settings(max_examples=25)
@given(st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, 1e300, -1e-300]), min_size=6, max_size=50))
def test_values_around_zero_agree_too(values):
    detector = Detector(min_effect=0.0)
    for value in values:
        detector.append(value)
    assert detector.changes == tuple(find_changes([Series(values=tuple(values))], min_effect=0.0)[0])


@settings(max_examples=15)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=12), st.sampled_from([40, 100]))
def test_many_series_together_say_what_each_says_alone(seeds, n):
    many = [Series(values=tuple(history(seed, n))) for seed in seeds]
    assert find_changes(many, min_effect=0.0) == [find_changes([one], min_effect=0.0)[0] for one in many]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number_is_refused_and_changes_nothing(bad):
    detector = Detector()
    detector.append(1.0)
    with pytest.raises(BadInputError, match="not a finite number"):
        detector.append(bad)
    with pytest.raises(BadInputError, match="below 0"):
        detector.append(1.0, -0.5)
    assert detector.verdict().n == 1


def test_a_shift_is_confirmed_by_its_third_point_when_it_is_large():
    random = np.random.default_rng(3)
    detector = Detector()
    for value in 100 * np.exp(0.01 * random.standard_normal(100)):
        assert not detector.append(float(value))
    told = [detector.append(value) for value in (105.2, 104.9, 105.1)]
    assert told == [False, False, True]
    assert detector.changes == (100,)
