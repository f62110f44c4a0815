"""Errors of points from their repeats: of one repeat, of few, and of values near zero."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.analysis.changes.detection import judge_many
from anubis.analysis.samples.repeats import repeat_errors
from anubis.model.series import Series


def test_a_single_repeat_has_the_error_of_the_others():
    errors = repeat_errors([100.0, 100.0, 200.0], [2.0, None, None], [50, 1, 4])
    assert errors[1] == pytest.approx(2.0, rel=0.02)
    assert errors[2] == pytest.approx(2 * 2.0 / math.sqrt(4), rel=0.02)


def test_few_repeats_that_happen_to_agree_are_not_exact():
    spreads = [2.0] * 20 + [0.0]
    errors = repeat_errors([100.0] * 21, spreads, [10] * 20 + [2])
    assert errors[0] == pytest.approx(2.0 / math.sqrt(10), rel=0.1)
    assert errors[20] > 1.0


def test_many_repeats_keep_their_own_error():
    errors = repeat_errors([100.0] * 3, [2.0, 2.0, 8.0], [400] * 3)
    assert errors[2] == pytest.approx(8.0 / 20, rel=0.02)


def test_without_repeats_there_are_no_errors():
    assert repeat_errors([1.0, 2.0], [None, None], [1, 1]) == ()
    assert repeat_errors([1.0, 2.0], [0.0, None], [3, 1]) == ()
    assert repeat_errors([], [], []) == ()


def test_a_value_near_zero_gives_the_others_no_error():
    spreads, counts = [1.0] * 21, [5] * 21
    errors = repeat_errors([100.0] * 20 + [1e-6], spreads, counts)
    assert errors[:20] == pytest.approx([1.0 / math.sqrt(5)] * 20, rel=0.2)


@given(st.integers(0, 39), st.sampled_from([1e-300, 1e-6, 1.0]), st.sampled_from([1e-3, 1.0, 1e6, 1e200]))
def test_an_error_that_exceeds_its_value_costs_no_memory(at, value, error):
    values = [100.0 + 0.01 * (number % 7) for number in range(40)]
    values[at] = value
    errors = [0.001] * 40
    errors[at] = error
    [verdict] = judge_many([Series(values=tuple(values), errors=tuple(errors))])
    assert verdict.changes == ()
