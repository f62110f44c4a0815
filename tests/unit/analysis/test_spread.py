"""Noise floor, smallest detectable effect, runs needed."""

import numpy as np
import pytest

from anubis.analysis.samples.compare import compare
from anubis.analysis.samples.ranks import shift
from anubis.analysis.samples.spread import (
    median,
    noise_floor,
    runs_needed,
    smallest_detectable,
    smallest_shift,
)


@pytest.mark.parametrize(
    ("values", "expected"), [([3.0], 3.0), ([1.0, 2.0], 1.5), ([-1e308, 1e308], 0.0), ([5e-324] * 2, 5e-324)]
)
def test_the_median_neither_overflows_nor_vanishes(values, expected):
    assert median(values) == expected


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_values_have_no_noise_floor(n):
    assert noise_floor([1.0] * n) is None


def test_the_noise_floor_is_the_standard_deviation_and_stands_a_wild_run():
    values = np.random.default_rng(0).standard_normal(2000).tolist()
    assert noise_floor(values) == pytest.approx(1, abs=0.06)
    assert noise_floor([*values, 1e9]) == pytest.approx(1, abs=0.06)
    assert noise_floor([1.0, 2.0, 3.0]) == pytest.approx(1.0)
    assert noise_floor([4.0] * 9) == 0


@pytest.mark.parametrize("n", [6, 12])
def test_the_smallest_detectable_effect_is_seen_four_times_in_five(n):
    random = np.random.default_rng(n)
    size = smallest_detectable(1.0, n, n)
    seen = [
        shift(np.sort(random.standard_normal(n)), np.sort(size + random.standard_normal(n))).p <= 0.05
        for _ in range(1500)
    ]
    assert np.mean(seen) == pytest.approx(0.8, abs=0.05)


def test_below_six_runs_too():
    random = np.random.default_rng(3)
    size = smallest_detectable(0.01, 4, 4)
    sides = 100 * np.exp(0.01 * random.standard_normal((1500, 2, 4)))
    sides[:, 1] *= np.exp(size)
    seen = [compare("m", old.tolist(), new.tolist()).p <= 0.05 for old, new in sides]
    assert np.mean(seen) == pytest.approx(0.8, abs=0.07)


def test_nothing_is_detectable_without_degrees_of_freedom():
    assert smallest_detectable(1.0, 1, 1) is None
    assert smallest_detectable(1.0, 0, 9) is None
    assert smallest_detectable(1.0, 1, 1, freedom=20) > 0


def test_runs_needed_is_the_inverse():
    for difference in (0.4, 0.7, 1.5, 4.0):
        n = runs_needed(1.0, difference)
        assert smallest_detectable(1.0, n, n) <= difference
        assert n == 3 or smallest_detectable(1.0, n - 1, n - 1) > difference
    assert runs_needed(1.0, 0.0) is None
    assert runs_needed(1.0, 0.001) is None
    assert runs_needed(0.0, 0.1) == 3


def test_a_shift_must_be_larger_with_fewer_points_and_more_autocorrelation():
    few, many = (smallest_shift(1.0, 80, n, threshold=4.5) for n in (5, 40))
    assert few > many > 0
    assert smallest_shift(1.0, 80, 5, threshold=4.5, inflation=4.0) == pytest.approx(2 * few)
